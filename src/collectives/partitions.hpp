// The partitions of a persistent exchange, as its user counts them: which are marked ready, and
// which have arrived. Marking takes no lock and never waits, so any thread may mark while another
// one waits for the exchange.
//
// A mark is the number of the execution in which it was made. Marked partitions stand in a queue.
// It has room for every partition, and each has at most one entry per execution. The thread that
// executes takes the entries out in order. (Marking is a release, taking an acquire: data that the
// user wrote before marking are sent.)
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

/// The partitions of one side, as events of a plan and in the user's terms.
class PartitionList {
 public:
  /// `counts` has an entry for each of `ends.ranks`. `what` is "send" or "receive", and must be a
  /// literal. Throws a count fault if an edge has no partition, or if its data do not divide into
  /// them.
  PartitionList(const char* what, std::vector<int> counts, const EdgeData& data, const Ends& ends);

  [[nodiscard]] int size() const { return first_.back(); }
  /// Number of partitions of an edge.
  [[nodiscard]] int of_edge(std::size_t edge) const { return first_[edge + 1] - first_[edge]; }
  /// Returns the event of a partition; -1 if the entry is MPI_PROC_NULL. Throws an argument fault
  /// if there is no such partition.
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
  std::vector<int> first_;     ///< first event, by edge; the total at the end
};

class Partitions final : public Events {
 public:
  /// The sides must outlive all executions.
  Partitions(PartitionList sent, PartitionList received, Side& send, Side& receive, MPI_Comm comm);

  [[nodiscard]] const PartitionList& sent() const { return sent_; }
  [[nodiscard]] const PartitionList& received() const { return received_; }

  /// Prepares an execution: no partition is ready, and none has arrived.
  void reset();
  /// Marks partitions `first` to `last` ready. Any thread may call it, between reset() and the end
  /// of the execution. Throws a request fault for a partition that is marked already.
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
  /// by event: last execution in which it was marked
  std::vector<std::atomic<std::int64_t>> marked_;
  std::vector<std::atomic<int>> queue_;  ///< 1 + an event, or 0 if empty
  std::atomic<std::size_t> end_ = 0;     ///< end of the queue
  std::size_t taken_ = 0;  ///< number of entries taken out by the thread that executes
  /// by event: last execution in which it arrived
  std::vector<std::atomic<std::int64_t>> arrived_;
};

}  // namespace vicinal
