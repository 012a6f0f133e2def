// The performance model of Bienz, Gautam and Kharel 2022, sections 2 and 4. It gives the cost of an
// allgather over p ranks by Bruck's algorithm, plain and locality-aware. Messages inside a region
// of p_l ranks are cheaper than messages between regions.
//
// The functions are the paper's equations as printed. If the paper's own text counts otherwise, the
// function says so. tests/cpp/unit/allgather_model.cpp compares them with what plans send.
#pragma once

namespace vicinal {

/// A link in the postal model.
struct Postal {
  double latency = 0;           ///< alpha, in seconds per message
  double seconds_per_byte = 0;  ///< beta
};

/// Amount sent by the rank that communicates most.
struct Sent {
  double messages = 0;  ///< n
  double bytes = 0;     ///< s
};

/// An allgather among regions of equal size.
struct AllgatherModel {
  double ranks = 1;             ///< p
  double ranks_per_region = 2;  ///< p_l; at least 2
  double bytes_per_rank = 0;    ///< of the m / p values that each rank begins with

  [[nodiscard]] double regions() const { return ranks / ranks_per_region; }  ///< r
  [[nodiscard]] double bytes() const { return ranks * bytes_per_rank; }      ///< b
};

/// Equation 1.
double postal_seconds(const Sent& sent, const Postal& link);

/// Equation 2: messages inside a region and between regions.
double locality_seconds(const Sent& local, const Postal& near, const Sent& non_local,
                        const Postal& far);

/// Counts as the text of section 4 does: Bruck's algorithm on a rank whose log2(p) messages all
/// leave its region.
Sent bruck_sent(const AllgatherModel& model);

/// Steps between regions of the locality-aware algorithm: log of r to base p_l.
double locality_steps(const AllgatherModel& model);
/// Its messages between regions, one in each step: in step i = 1, 2, ... p_l^i blocks.
Sent locality_bruck_non_local(const AllgatherModel& model);
/// Its messages inside a region: Bruck's algorithm among p_l ranks before the first step and after
/// each.
Sent locality_bruck_local(const AllgatherModel& model);

/// Equation 3: seconds for Bruck's algorithm. It subtracts one byte from the total where the text
/// subtracts one value.
double bruck_seconds(const AllgatherModel& model, const Postal& far);

/// Equation 4: seconds for the locality-aware algorithm. It counts one local latency for each local
/// allgather where the text counts log2(p_l). It counts b / p_l bytes between regions, which is
/// what the last step alone moves.
double locality_bruck_seconds(const AllgatherModel& model, const Postal& near, const Postal& far);

}  // namespace vicinal
