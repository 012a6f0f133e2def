// Forms halos and runs their exchanges. Exchanges of a direction use the channels in rotation. All
// ranks start them in the same order, so they agree on the channel without a message, however far
// earlier exchanges have progressed.
#include "collectives/halo.hpp"

#include <cstdlib>
#include <thread>

#include "base/runs.hpp"
#include "base/setting.hpp"
#include "discovery/findings.hpp"
#include "mpi/communicator.hpp"
#include "mpi/datatype.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

namespace {

/// Returns a copy of the type that a user's operator gets, or an empty one for other operators.
mpi::KeptType kept_type(const Combine& combine) {
  return combine.user_op != MPI_OP_NULL ? mpi::KeptType(combine.datatype) : mpi::KeptType();
}

}  // namespace

class HaloRequest final : public ExecutionRequest {
 public:
  HaloRequest(std::shared_ptr<mpi::Communicator> communicator, const Chosen& chosen, bool reverse,
              int channel)
      : ExecutionRequest(std::move(communicator), Ownership::borrowed) {
    execute(chosen, reverse, channel);
  }
  /// Makes a persistent request, with a plan of its own.
  HaloRequest(std::shared_ptr<mpi::Communicator> communicator, const Chosen& chosen, bool reverse,
              Binding binding, mpi::KeptType type)
      : ExecutionRequest(std::move(communicator), Ownership::persistent),
        binding_(std::move(binding)),
        type_(std::move(type)) {
    execute(chosen, reverse, 0);
  }
  HaloRequest(const HaloRequest&) = delete;
  HaloRequest& operator=(const HaloRequest&) = delete;
  ~HaloRequest() override { end(); }

  void launch(const Binding& binding) {
    binding_ = binding;
    starter_ = std::this_thread::get_id();
    ExecutionRequest::launch();
  }
  [[nodiscard]] bool is_in_flight_for_another_thread() const {
    return in_flight() && starter_ != std::this_thread::get_id();
  }
  using ExecutionRequest::start_after_failure;
  void wait_idle() {
    if (!in_flight()) executions().wait_idle();
  }

 private:
  void begin() override {
    if (ownership() == Ownership::borrowed) type_ = kept_type(binding_.combine);
    executions().start(binding_);
  }
  void take() override {
    if (ownership() == Ownership::borrowed) type_ = {};
  }
  [[nodiscard]] Places places() const override { return {binding_.source, binding_.target}; }

  Binding binding_;
  std::thread::id starter_;  ///< thread that started the last execution
  /// Keeps the type that the user's operator gets valid, under the user's own handle, since the
  /// operator may compare it.
  mpi::KeptType type_;
};

namespace {

/// Size of a value for decisions by cost, which must be the same on all ranks.
constexpr Index usual_bytes = 8;

HaloMap form(mpi::Communicator& communicator, const Halo::Owned& owned,
             std::span<const Index> needed, std::optional<std::span<const int>> owners,
             const Settings& settings) {
  ExchangeOptions how = exchange_options(settings);
  // The method in the settings applies to sparse exchanges that the program makes.
  how.method = Method::automatic;
  if (const auto* range = std::get_if<std::pair<Index, Index>>(&owned.indices)) {
    return form_halo(communicator, *range, needed, how);
  }
  const auto& indices = std::get<std::vector<Index>>(owned.indices);
  // A rank that needs nothing names no owners, but must use the same form as the other ranks.
  if (!owners) return form_halo(communicator, indices, needed, how);
  return form_halo(communicator, indices, needed, *owners, how);
}

Binding describe(const ValueShape& shape) {
  require(shape.values >= 1 && shape.vectors >= 1, Fault::argument, shape.values,
          " values per index and ", shape.vectors, " vectors were given; both must be positive");
  Binding binding;
  binding.element_bytes = product(product(shape.value_bytes, shape.values), shape.vectors);
  if (shape.vectors > 1) {
    binding.pieces = shape.vectors;
    binding.piece_unit = shape.value_bytes;
    binding.source_stride = product(shape.source_stride, shape.value_bytes);
    binding.target_stride = product(shape.target_stride, shape.value_bytes);
  }
  return binding;
}

/// Throws if an array that is read or written is null, or MPI_IN_PLACE.
void check_buffer(const void* buffer, bool used, const char* what) {
  require(!used || buffer != nullptr, Fault::buffer, "the array of ", what,
          " is null, but this rank has some to exchange");
  require(buffer != MPI_IN_PLACE, Fault::buffer, "MPI_IN_PLACE was given for the array of ", what,
          "; owned values and ghosts need an array each");
}

}  // namespace

Halo::Halo(MPI_Comm user, const Owned& owned, std::span<const Index> needed,
           std::optional<std::span<const int>> owners, Settings settings,
           std::optional<Error> fault) {
  const auto communicator = mpi::Communicator::of(user);
  const mpi::NamedCall call(*communicator, "the creation of a halo");
  std::optional<Error> finding;
  if (fault) finding.emplace(*fault);
  attempt(finding, [&] {
    communicator->machine(settings.regions);
    find_planner(settings.strategy);
  });
  agree(*communicator, finding, {}, given_settings(settings, communicator->default_regions()));
  std::optional<Error> lacking;
  Ends sources, destinations;
  attempt_together(lacking, [&] { map_ = form(*communicator, owned, needed, owners, settings); });
  std::vector<int> from, to;
  for (const InEdge& edge : map_.pattern.in) from.push_back(edge.rank);
  for (const OutEdge& edge : map_.pattern.out) to.push_back(edge.rank);
  sources = Ends(std::move(from));
  destinations = Ends(std::move(to));
  PlanOptions options = settings.options;
  options.element_bytes = usual_bytes;
  options.with_reverse = true;
  const int channels = settings.in_flight;
  graph_ = Graph::make(communicator, std::move(sources), std::move(destinations),
                       std::move(settings), std::move(lacking));
  const Named named = environment_value("vicinal_strategy") ? Named::for_all : Named::for_this;
  const Chosen chosen = graph_->plan_persistent(map_.pattern, graph_->settings(), options,
                                                std::nullopt, named, channels);
  for (const bool reverse : {false, true}) {
    for (int channel = 0; channel < channels; ++channel) {
      requests_[reverse ? 1 : 0].push_back(
          std::make_unique<HaloRequest>(communicator, chosen, reverse, channel));
    }
  }
}

Halo::~Halo() = default;

const AgreedPlan& Halo::plan() const { return requests_[0].front()->plan(); }

void Halo::check_buffers(const void* owned, const void* ghosts, const ValueShape& shape) const {
  check_buffer(owned, !map_.send_indices.empty(), "owned values");
  check_buffer(ghosts, map_.ghost_count > 0, "ghosts");
  if (owned == nullptr || ghosts == nullptr) return;
  if (shape.vectors > 1) return;  // ghosts may lie at the end of each vector
  const auto at = reinterpret_cast<std::uintptr_t>(owned);
  const auto ghosts_at = reinterpret_cast<std::uintptr_t>(ghosts);
  const auto index_bytes = static_cast<std::uintptr_t>(product(shape.values, shape.value_bytes));
  const std::uintptr_t owned_bytes = static_cast<std::uintptr_t>(map_.owned_count) * index_bytes;
  const std::uintptr_t ghost_bytes = static_cast<std::uintptr_t>(map_.ghost_count) * index_bytes;
  require(owned_bytes == 0 || ghost_bytes == 0 || at >= ghosts_at + ghost_bytes ||
              ghosts_at >= at + owned_bytes,
          Fault::buffer, "the ghosts share memory with the owned values, of which there are ",
          map_.owned_count, " with ", index_bytes,
          " bytes each. Ghosts at the end of the same array begin behind these");
}

HaloRequest& Halo::next_request(bool reverse) {
  const auto& requests = requests_[reverse ? 1 : 0];
  return *requests[started_[reverse ? 1 : 0] % requests.size()];
}

template <class Bind>
Request& Halo::launch(bool reverse, Bind bind) {
  mpi::check_usable();
  const std::size_t most = requests_[reverse ? 1 : 0].size();
  const Starting starting(starting_);
  HaloRequest& request = next_request(reverse);
  if (starting.was_disturbed() || request.is_in_flight_for_another_thread()) {
    // No rank knows which exchange of the other ranks this start belongs to. It counts, so that
    // they do not wait for it.
    participate_after_failure(reverse);
    fail(Fault::request, "another thread ",
         starting.was_disturbed() ? "was starting an exchange of this halo at the same time"
                                  : "has started the exchanges of this halo that are in flight",
         ". All ranks must start the exchanges of a halo in one order: start them from one thread, "
         "or give each thread a halo of its own");
  }
  require(!request.in_flight(), Fault::request, "the exchange started ", most,
          " starts before this one is still in flight, and the halo was made for ", most,
          " at a time; wait for it, or set vicinal_in_flight");
  Binding binding;
  try {
    binding = bind();
  } catch (...) {
    participate_after_failure(reverse);
    throw;
  }
  ++started_[reverse ? 1 : 0];
  request.launch(binding);
  return request;
}

void Halo::start_after_failure(bool reverse) {
  mpi::check_usable();
  const Starting starting(starting_);
  participate_after_failure(reverse);
}

void Halo::participate_after_failure(bool reverse) {
  HaloRequest& request = next_request(reverse);
  ++started_[reverse ? 1 : 0];
  request.start_after_failure();
}

void Halo::wait_idle(bool reverse) {
  mpi::check_usable();
  for (const auto& request : requests_[reverse ? 1 : 0]) request->wait_idle();
}

void Halo::check_stride(const ValueShape& shape) const {
  const bool is_wide =
      shape.vectors == 1 || std::abs(shape.target_stride) >= map_.ghost_count * shape.values;
  require(is_wide, Fault::argument, "the ghosts of vectors share memory: vectors lie ",
          shape.target_stride, " values apart, but each has ", map_.ghost_count, " ghosts of ",
          shape.values, " values. Give a larger stride");
}

Binding Halo::bind_forward(const void* owned, void* ghosts, const ValueShape& shape) const {
  Binding binding = describe(shape);
  check_buffers(owned, ghosts, shape);
  check_stride(shape);
  binding.source = static_cast<const std::byte*>(owned);
  binding.target = static_cast<std::byte*>(ghosts);
  return binding;
}

Binding Halo::bind_reverse(void* owned, const void* ghosts, const ValueShape& shape,
                           const Combine& combine) const {
  Binding binding = describe(shape);
  check_buffers(owned, ghosts, shape);
  binding.source = static_cast<const std::byte*>(ghosts);
  binding.target = static_cast<std::byte*>(owned);
  binding.combine = combine;
  return binding;
}

Request& Halo::start(const void* owned, void* ghosts, const ValueShape& shape) {
  return launch(false, [&] { return bind_forward(owned, ghosts, shape); });
}

Request& Halo::start_reverse(void* owned, const void* ghosts, const ValueShape& shape,
                             const Combine& combine) {
  return launch(true, [&] { return bind_reverse(owned, ghosts, shape, combine); });
}

template <class Bind>
std::unique_ptr<ExecutionRequest> Halo::make_persistent(bool reverse, std::optional<Error> fault,
                                                        Bind bind) {
  Binding binding;
  mpi::KeptType type;
  attempt(fault, [&] {
    binding = bind();
    type = kept_type(binding.combine);
  });
  PlanOptions options = graph_->settings().options;
  options.element_bytes = usual_bytes;
  options.with_reverse = reverse;
  options.index_bytes = binding.element_bytes;
  options.on_device =
      kind_out_of_reach(binding.source) != nullptr || kind_out_of_reach(binding.target) != nullptr;
  const Chosen chosen = graph_->plan_persistent(map_.pattern, graph_->settings(), options,
                                                std::move(fault), Named::for_all);
  return std::make_unique<HaloRequest>(graph_->shared_communicator(), chosen, reverse,
                                       std::move(binding), std::move(type));
}

std::unique_ptr<ExecutionRequest> Halo::persistent(const void* owned, void* ghosts,
                                                   const ValueShape& shape,
                                                   std::optional<Error> fault) {
  return make_persistent(false, std::move(fault),
                         [&] { return bind_forward(owned, ghosts, shape); });
}

std::unique_ptr<ExecutionRequest> Halo::persistent_reverse(void* owned, const void* ghosts,
                                                           const ValueShape& shape,
                                                           const Combine& combine,
                                                           std::optional<Error> fault) {
  return make_persistent(true, std::move(fault),
                         [&] { return bind_reverse(owned, ghosts, shape, combine); });
}

}  // namespace vicinal
