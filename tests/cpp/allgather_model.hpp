// The performance model of Bienz, Gautam and Kharel 2022, sections 2 and 4: what an allgather over p
// ranks costs by Bruck's algorithm, plain and locality-aware, where messages inside a region of
// p_l ranks are cheaper than those between regions.
//
// The functions are the paper's equations as printed. Where its own text counts otherwise, the
// function says so; tests/cpp/unit/allgather_model.cpp puts them side by side with what plans send.
#pragma once

namespace vicinal {

/// A link in the postal model.
struct Postal {
  double latency = 0;           ///< alpha, in seconds per message
  double seconds_per_byte = 0;  ///< beta
};

/// What the rank that communicates most sends.
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

/// What section 4's text counts: Bruck's algorithm on the rank all of whose messages leave its
/// region, log2(p) of them.
Sent bruck_sent(const AllgatherModel& model);

/// Steps between regions of the locality-aware algorithm: log of r to base p_l.
double locality_steps(const AllgatherModel& model);
/// Its messages between regions, one in each step: in step i = 1, 2, ... p_l^i blocks.
Sent locality_bruck_non_local(const AllgatherModel& model);
/// Its messages inside a region: Bruck's algorithm among p_l ranks before the first step and after
/// each.
Sent locality_bruck_local(const AllgatherModel& model);

/// Equation 3: seconds for Bruck's algorithm. It takes off one byte of the total where the text
/// takes off one value.
double bruck_seconds(const AllgatherModel& model, const Postal& far);

/// Equation 4: seconds for the locality-aware algorithm. It counts one local latency for each
/// sharing where the text counts log2(p_l), and b / p_l bytes between regions, which is what the
/// last step alone moves.
double locality_bruck_seconds(const AllgatherModel& model, const Postal& near, const Postal& far);

}  // namespace vicinal
