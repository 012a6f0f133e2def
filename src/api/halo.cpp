// The C interface: halos.
#include <memory>
#include <optional>
#include <utility>

#include "api/arguments.hpp"
#include "api/shared.hpp"
#include "collectives/combine_of.hpp"
#include "plan/checks.hpp"

namespace {

using namespace vicinal::c_api;
using vicinal::Index;

template <class Owned>
int create_halo(MPI_Comm comm, Owned owned, std::int64_t needed_count, const std::int64_t* needed,
                bool with_owners, const int* owners, MPI_Info info, vicinal_halo* halo) noexcept {
  return guarded(comm, [&] {
    std::vector<Index> wanted;
    std::optional<std::vector<int>> ranks;
    if (with_owners) ranks.emplace();
    vicinal::Halo::Owned indices{decltype(owned()){}};
    std::unique_ptr<vicinal_halo_s> made;
    std::optional<vicinal::Settings> settings;
    auto fault = fault_of([&] {
      require_handle(halo, "halo");
      made = std::make_unique<vicinal_halo_s>();
      wanted = list(needed, needed_count, "needed indices");
      if (with_owners) ranks = list(owners, needed_count, "owners");
      indices.indices = owned();
      settings = vicinal::read_settings(info, comm);
    });
    if (!settings) settings.emplace();
    auto planned = std::make_unique<vicinal::Halo>(comm, indices, wanted, ranks,
                                                   std::move(*settings), std::move(fault));
    made->halo = std::move(planned);
    *halo = handle(std::move(made));
  });
}

/// Runs `start`, which starts an exchange and returns its request. If its arguments cannot be read,
/// other ranks learn of it, since they participate in the exchange.
template <class Start>
int start_halo(vicinal_halo halo, bool reverse, vicinal_request* request, Start start) noexcept {
  return guarded(error_communicator_of(halo), [&] {
    vicinal::Halo& its = *given(halo).halo;
    const auto read = [&](auto arguments) {
      try {
        require_handle(request, "request");
        return arguments();
      } catch (...) {
        its.start_after_failure(reverse);
        throw;
      }
    };
    *request = handle(&start(its, read));
  });
}

/// Makes a persistent request by `make`, from the arguments that `read` reads. All ranks learn of
/// an error in them.
template <class Read, class Make>
int init_halo(vicinal_halo halo, vicinal_request* request, Read read, Make make) noexcept {
  return guarded(error_communicator_of(halo), [&] {
    vicinal::Halo& its = *given(halo).halo;
    auto fault = fault_of([&] {
      require_handle(request, "request");
      read();
    });
    *request = handle(make(its, std::move(fault)).release());
  });
}

/// Leaves a blocking exchange that has failed with `code`, once other ranks no longer need this
/// rank.
int leave_halo(vicinal_halo halo, bool reverse, int code) noexcept {
  vicinal_halo_s* const its = find(halo);
  if (its == nullptr) return code;
  const int left = guarded(error_communicator_of(halo), [&] { its->halo->wait_idle(reverse); });
  return left == MPI_SUCCESS ? code : left;
}

}  // namespace

extern "C" {

int vicinal_halo_create(MPI_Comm comm, int64_t first, int64_t last, int64_t needed_count,
                        const int64_t needed[], MPI_Info info, vicinal_halo* halo) {
  const auto owned = [&] { return std::pair<Index, Index>(first, last); };
  return create_halo(comm, owned, needed_count, needed, false, nullptr, info, halo);
}

int vicinal_halo_create_indexed(MPI_Comm comm, int64_t owned_count, const int64_t owned[],
                                int64_t needed_count, const int64_t needed[], MPI_Info info,
                                vicinal_halo* halo) {
  const auto indices = [&] { return list(owned, owned_count, "owned indices"); };
  return create_halo(comm, indices, needed_count, needed, false, nullptr, info, halo);
}

int vicinal_halo_create_with_owners(MPI_Comm comm, int64_t owned_count, const int64_t owned[],
                                    int64_t needed_count, const int64_t needed[],
                                    const int owners[], MPI_Info info, vicinal_halo* halo) {
  const auto indices = [&] { return list(owned, owned_count, "owned indices"); };
  return create_halo(comm, indices, needed_count, needed, true, owners, info, halo);
}

int vicinal_halo_free(vicinal_halo* halo) {
  return guarded(MPI_COMM_NULL, [&] {
    require_handle(halo, "pointer to a halo");
    delete object(*halo);
    *halo = VICINAL_HALO_NULL;
  });
}

int vicinal_halo_start(vicinal_halo halo, const void* owned, void* ghosts, int64_t values,
                       MPI_Datatype type, vicinal_request* request) {
  return start_halo(halo, false, request, [&](vicinal::Halo& it, auto read) -> auto& {
    return it.start(owned, ghosts, read([&] { return shape_of(values, type); }));
  });
}

int vicinal_halo_start_vectors(vicinal_halo halo, const void* owned, int64_t owned_stride,
                               void* ghosts, int64_t ghost_stride, int64_t vectors, int64_t values,
                               MPI_Datatype type, vicinal_request* request) {
  return start_halo(halo, false, request, [&](vicinal::Halo& it, auto read) -> auto& {
    vicinal::ValueShape shape = read([&] { return shape_of(values, type); });
    shape.vectors = vectors;
    shape.source_stride = owned_stride;
    shape.target_stride = ghost_stride;
    return it.start(owned, ghosts, shape);
  });
}

int vicinal_halo_reverse_start(vicinal_halo halo, void* owned, const void* ghosts, int64_t values,
                               MPI_Datatype type, MPI_Op op, vicinal_request* request) {
  return start_halo(halo, true, request, [&](vicinal::Halo& it, auto read) -> auto& {
    const auto [shape, combine] = read(
        [&] { return std::pair(shape_of(values, type), vicinal::combine_of(op, type, values)); });
    return it.start_reverse(owned, ghosts, shape, combine);
  });
}

int vicinal_halo_init(vicinal_halo halo, const void* owned, void* ghosts, int64_t values,
                      MPI_Datatype type, vicinal_request* request) {
  vicinal::ValueShape shape;
  return init_halo(
      halo, request, [&] { shape = shape_of(values, type); },
      [&](vicinal::Halo& it, auto fault) {
        return it.persistent(owned, ghosts, shape, std::move(fault));
      });
}

int vicinal_halo_reverse_init(vicinal_halo halo, void* owned, const void* ghosts, int64_t values,
                              MPI_Datatype type, MPI_Op op, vicinal_request* request) {
  vicinal::ValueShape shape;
  vicinal::Combine combine;
  const auto read = [&] {
    shape = shape_of(values, type);
    combine = vicinal::combine_of(op, type, values);
  };
  return init_halo(halo, request, read, [&](vicinal::Halo& it, auto fault) {
    return it.persistent_reverse(owned, ghosts, shape, combine, std::move(fault));
  });
}

int vicinal_halo_exchange(vicinal_halo halo, const void* owned, void* ghosts, int64_t values,
                          MPI_Datatype type) {
  vicinal_request request = VICINAL_REQUEST_NULL;
  const int code = vicinal_halo_start(halo, owned, ghosts, values, type, &request);
  return code == MPI_SUCCESS ? vicinal_wait(&request) : leave_halo(halo, false, code);
}

int vicinal_halo_reverse(vicinal_halo halo, void* owned, const void* ghosts, int64_t values,
                         MPI_Datatype type, MPI_Op op) {
  vicinal_request request = VICINAL_REQUEST_NULL;
  const int code = vicinal_halo_reverse_start(halo, owned, ghosts, values, type, op, &request);
  return code == MPI_SUCCESS ? vicinal_wait(&request) : leave_halo(halo, true, code);
}

int vicinal_halo_get_maps(vicinal_halo halo, vicinal_halo_map* send, vicinal_halo_map* receive) {
  return guarded(error_communicator_of(halo), [&] {
    const vicinal::HaloMap& map = given(halo).halo->map();
    require_handle(send, "send map");
    require_handle(receive, "receive map");
    *send = {static_cast<int>(map.send_ranks.size()), map.send_ranks.data(),
             map.send_offsets.data(), map.send_indices.data()};
    *receive = {static_cast<int>(map.receive_ranks.size()), map.receive_ranks.data(),
                map.receive_offsets.data(), map.receive_positions.data()};
  });
}

int vicinal_halo_get_statistics(vicinal_halo halo, vicinal_statistics* statistics) {
  return guarded(error_communicator_of(halo), [&] {
    const vicinal::AgreedPlan& plan = given(halo).halo->plan();
    require_handle(statistics, "statistics");
    const vicinal::Statistics counted = vicinal::statistics(plan.forward());
    *statistics = {counted.non_local.messages, counted.non_local.elements,
                   counted.local.messages,     counted.local.elements,
                   counted.shared_elements,    plan.communicator().arena_fault().c_str()};
  });
}

}  // extern "C"
