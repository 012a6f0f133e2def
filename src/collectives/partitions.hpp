// The partitions of a persistent exchange, as its user counts them: which have been marked ready, and which
// have arrived. Marking takes no lock and waits for nobody, so that any thread may do it while another waits
// for the exchange.
//
// A mark is a number: that of the execution in which it was made. What has been marked stands in a queue
// with room for every partition, of which each has at most one entry in an execution; who executes takes
// entries out in their order. (release by who marks, acquire by who takes: what the user has written before
// marking is sent.)
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <vector>

#include "collectives/edge_data.hpp"
#include "collectives/side.hpp"
#include "execute/events.hpp"

namespace vicinal {

/// The partitions of one side: the events of a plan, and what its user calls them.
class PartitionList {
 public:
  /// `counts` has an entry for each of `ends.ranks`. A count fault where an edge has none, or its data do not
  /// divide into them. `what` is "send" or "receive", and must be a literal.
  PartitionList(const char* what, std::vector<int> counts, const EdgeData& data, const Ends& ends);

  [[nodiscard]] int size() const { return first_.back(); }
  /// How many an edge has.
  [[nodiscard]] int of_edge(std::size_t edge) const { return first_[edge + 1] - first_[edge]; }
  /// The event of a partition, -1 where the entry is MPI_PROC_NULL. An argument fault where there is no such
  /// partition.
  [[nodiscard]] int event(int neighbor, int partition) const;

  struct Place {
    std::size_t edge;
    int neighbor;
    int partition;
  };
  [[nodiscard]] Place place(int event) const;

 private:
  const char* what_;
  std::vector<int> counts_;    ///< by entry
  std::vector<int> edge_of_;   ///< by entry, or -1
  std::vector<int> entry_of_;  ///< by edge
  std::vector<int> first_;     ///< by edge, and the end
};

class Partitions final : public Events {
 public:
  /// The sides must outlive whatever executes.
  Partitions(PartitionList sent, PartitionList received, Side& send, Side& receive, MPI_Comm comm);

  [[nodiscard]] const PartitionList& sent() const { return sent_; }
  [[nodiscard]] const PartitionList& received() const { return received_; }

  /// Before an execution: nothing is ready, nothing has arrived.
  void reset();
  /// From any thread, between reset() and the end of the execution. A request fault for what has been marked
  /// already.
  void mark(int neighbor, int first, int last);
  [[nodiscard]] bool has_arrived(int neighbor, int partition) const;

  int next() noexcept override;
  void prepare(int event) override;
  void tell(int event) override;
  void describe_missing(std::ostream& out) const override;

 private:
  PartitionList sent_;
  PartitionList received_;
  Side& send_;
  Side& receive_;
  MPI_Comm comm_;
  std::atomic<std::int64_t> execution_ = 0;
  std::vector<std::atomic<std::int64_t>> marked_;  ///< by event: the last execution in which it was
  std::vector<std::atomic<int>> queue_;            ///< 1 + an event, or 0
  std::atomic<std::size_t> end_ = 0;               ///< of the queue
  std::size_t taken_ = 0;                          ///< of whoever executes
  std::vector<std::atomic<std::int64_t>>
      arrived_;  ///< by event: the last execution in which it has
};

}  // namespace vicinal
