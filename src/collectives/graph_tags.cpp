// Numbers the graphs of a communicator, beginning with the communicator's number, and assigns
// blocks of tags in rotation.
#include "collectives/graph_tags.hpp"

#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/guarded.hpp"

namespace vicinal {
namespace {

static_assert(GraphTags::kinds * GraphTags::tags_per_kind <= mpi::planless_block);

/// The live graphs of a communicator.
struct Graphs {
  Mutex mutex;
  std::unordered_set<std::int64_t> live_blocks VICINAL_GUARDED_BY(mutex);
};

}  // namespace

std::int64_t next_graph_number(mpi::Communicator& communicator) noexcept {
  return communicator.number() * mpi::graphs_per_communicator + communicator.count_graph();
}

GraphTags::GraphTags(std::shared_ptr<mpi::Communicator> communicator, std::int64_t graph)
    : communicator_(std::move(communicator)),
      block_(graph % communicator_->planless_blocks()),
      first_(communicator_->planless_tag(block_)) {
  auto& graphs = communicator_->extension<Graphs>();
  const Lock lock(graphs.mutex);
  require(
      graphs.live_blocks.insert(block_).second, Fault::memory, "a graph made ",
      communicator_->planless_blocks(),
      " graphs ago is still alive on this communicator, which has no more message numbers; free "
      "graphs that are not needed, or use several communicators");
}

GraphTags::~GraphTags() {
  auto& graphs = communicator_->extension<Graphs>();
  const Lock lock(graphs.mutex);
  graphs.live_blocks.erase(block_);
}

}  // namespace vicinal
