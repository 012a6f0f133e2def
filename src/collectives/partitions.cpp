// Marks partitions ready, and records their arrival.
#include "collectives/partitions.hpp"

#include <algorithm>
#include <limits>
#include <ostream>
#include <utility>

#include "base/error.hpp"

namespace vicinal {

PartitionList::PartitionList(const char* what, std::vector<int> counts, const EdgeData& data,
                             const Ends& ends)
    : what_(what),
      counts_(std::move(counts)),
      edge_of_(ends.ranks.size(), -1),
      entry_of_(ends.entry_of),
      first_{0} {
  std::int64_t all = 0;
  for (std::size_t edge = 0; edge < entry_of_.size(); ++edge) {
    const int entry = entry_of_[edge];
    const int partitions = counts_[static_cast<std::size_t>(entry)];
    require(partitions >= 1, Fault::count, "the number of ", what, " partitions of edge ", entry,
            " is ", partitions, "; give at least 1");
    const Index count = data.piece(edge).count;
    require(count % partitions == 0, Fault::count, "the ", what, " count of edge ", entry, " is ",
            count, ", which does not divide into ", partitions,
            " equal partitions; give a multiple, or another number of partitions");
    all += partitions;
    require(all < std::numeric_limits<int>::max() / 2, Fault::count, "the ", what, " side has ",
            all, " partitions; give fewer");
    edge_of_[static_cast<std::size_t>(entry)] = static_cast<int>(edge);
    first_.push_back(static_cast<int>(all));
  }
}

int PartitionList::event(int neighbor, int partition) const {
  require(neighbor >= 0 && neighbor < static_cast<int>(edge_of_.size()), Fault::argument,
          "neighbor ", neighbor, " was given, but there are ", edge_of_.size(), " to ", what_,
          std::string_view(what_) == "send" ? " to" : " from", "; count from 0");
  const auto entry = static_cast<std::size_t>(neighbor);
  const int edge = edge_of_[entry];
  if (edge < 0) return -1;
  require(partition >= 0 && partition < counts_[entry], Fault::argument, "partition ", partition,
          " of neighbor ", neighbor, " was given, but it has ", counts_[entry], "; count from 0");
  return first_[static_cast<std::size_t>(edge)] + partition;
}

PartitionList::Place PartitionList::place(int event) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), event);
  const auto edge = static_cast<std::size_t>(next - first_.begin()) - 1;
  return {edge, entry_of_[edge], event - first_[edge]};
}

Partitions::Partitions(PartitionList sent, PartitionList received, Side& send, Side& receive,
                       MPI_Comm comm)
    : sent_(std::move(sent)),
      received_(std::move(received)),
      send_(send),
      receive_(receive),
      comm_(comm),
      marked_(static_cast<std::size_t>(sent_.size())),
      queue_(static_cast<std::size_t>(sent_.size())),
      arrived_(static_cast<std::size_t>(received_.size())) {}

void Partitions::reset() {
  // The last execution has taken all entries out, or has failed.
  for (auto& entry : queue_) entry.store(0, std::memory_order_relaxed);
  taken_ = 0;
  end_.store(0, std::memory_order_relaxed);
  execution_.fetch_add(1, std::memory_order_release);
}

void Partitions::mark(int neighbor, int first, int last) {
  require(first <= last, Fault::argument, "partitions ", first, " to ", last,
          " were given; the first must not come after the last");
  const int from = sent_.event(neighbor, first);
  const int to = sent_.event(neighbor, last);
  if (from < 0) return;
  const std::int64_t execution = execution_.load(std::memory_order_acquire);
  for (int event = from; event <= to; ++event) {
    const auto i = static_cast<std::size_t>(event);
    const bool again = marked_[i].exchange(execution, std::memory_order_relaxed) == execution;
    require(!again, Fault::request, "partition ", first + event - from, " to neighbor ", neighbor,
            " was marked ready twice in one execution; mark each once after each start");
    const std::size_t place = end_.fetch_add(1, std::memory_order_relaxed);
    queue_[place].store(event + 1, std::memory_order_release);
  }
}

bool Partitions::has_arrived(int neighbor, int partition) const {
  const int event = received_.event(neighbor, partition);
  if (event < 0) return true;
  return arrived_[static_cast<std::size_t>(event)].load(std::memory_order_acquire) ==
         execution_.load(std::memory_order_relaxed);
}

int Partitions::next() noexcept {
  if (taken_ == queue_.size()) return -1;
  const int event = queue_[taken_].load(std::memory_order_acquire) - 1;
  if (event >= 0) ++taken_;
  return event;
}

void Partitions::prepare(int event) {
  const PartitionList::Place it = sent_.place(event);
  send_.pack(it.edge, it.partition, sent_.of_edge(it.edge), comm_);
}

void Partitions::tell(int event) {
  const PartitionList::Place it = received_.place(event);
  receive_.unpack(it.edge, it.partition, received_.of_edge(it.edge), comm_);
  arrived_[static_cast<std::size_t>(event)].store(execution_.load(std::memory_order_relaxed),
                                                  std::memory_order_release);
}

void Partitions::describe_missing(std::ostream& out) const {
  const std::int64_t execution = execution_.load(std::memory_order_relaxed);
  int first = -1, missing = 0;
  for (int event = 0; event < sent_.size(); ++event) {
    if (marked_[static_cast<std::size_t>(event)].load(std::memory_order_relaxed) == execution) {
      continue;
    }
    if (missing++ == 0) first = event;
  }
  if (missing == 0) return;
  const PartitionList::Place it = sent_.place(first);
  out << "partition " << it.partition << " to neighbor " << it.neighbor;
  if (missing == 1) {
    out << " has not been marked ready";
  } else {
    out << " and " << missing - 1 << " others have not been marked ready";
  }
}

}  // namespace vicinal
