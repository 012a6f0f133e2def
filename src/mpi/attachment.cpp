// Attachments are MPI attributes, with one key for each purpose.
#include "mpi/attachment.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "base/guarded.hpp"
#include "mpi/collectives.hpp"
#include "mpi/environment.hpp"
#include "mpi/errors.hpp"

namespace vicinal::mpi {
namespace {

std::array<std::atomic<int>, 3> keys = {MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID};
/// Number of attributes that communicators have.
std::atomic<std::int64_t> attributes = 0;
/// Number of deferred tasks polled per attach(): more than one attachment leaves behind.
constexpr std::size_t deferred_per_attachment = 16;

std::atomic<int>& key_of(Attached of) { return keys[static_cast<std::size_t>(of)]; }

int copy_attached(MPI_Comm /*original*/, int /*key*/, void* /*state*/, void* attribute, void* copy,
                  int* is_copied) {
  auto made = static_cast<Attachment*>(attribute)->for_duplicate();
  *is_copied = made != nullptr ? 1 : 0;
  attributes += *is_copied;
  *static_cast<void**>(copy) = made.release();
  return MPI_SUCCESS;
}

int drop_attached(MPI_Comm /*user*/, int /*key*/, void* attribute, void* /*state*/) {
  static_cast<Attachment*>(attribute)->let_go();
  --attributes;
  return MPI_SUCCESS;
}

int made_key(Attached of) {
  static Mutex mutex;
  const Lock lock(mutex);
  int made = key_of(of);
  if (made == MPI_KEYVAL_INVALID) {
    check(MPI_Comm_create_keyval(copy_attached, drop_attached, &made, nullptr),
          "MPI_Comm_create_keyval");
    key_of(of) = made;
  }
  return made;
}

}  // namespace

void attach(MPI_Comm user, Attached of, std::unique_ptr<Attachment> what) {
  run_deferred(deferred_per_attachment);
  check(MPI_Comm_set_attr(user, made_key(of), what.get()), "MPI_Comm_set_attr");
  static_cast<void>(what.release());
  ++attributes;
}

void forget_keys() noexcept {
  if (attributes > 0) return;
  for (std::atomic<int>& key : keys) key = MPI_KEYVAL_INVALID;
}

void detach(MPI_Comm user, Attached of) noexcept {
  if (attached(user, of) != nullptr) MPI_Comm_delete_attr(user, key_of(of));
}

Attachment* attached(MPI_Comm user, Attached of) noexcept {
  const int known = key_of(of).load(std::memory_order_relaxed);
  if (known == MPI_KEYVAL_INVALID || user == MPI_COMM_NULL || is_forked()) return nullptr;
  void* attribute = nullptr;
  int found = 0;
  const int code = MPI_Comm_get_attr(user, known, static_cast<void*>(&attribute), &found);
  return code == MPI_SUCCESS && found != 0 ? static_cast<Attachment*>(attribute) : nullptr;
}

bool same_ranks(MPI_Comm a, MPI_Comm b) {
  // MPICH 5.0.2 reports equal ranks for a topology's communicator that has fewer ranks than its
  // parent.
  int size_of_a = 0, size_of_b = 0, result = MPI_UNEQUAL;
  check(MPI_Comm_size(a, &size_of_a), "MPI_Comm_size");
  check(MPI_Comm_size(b, &size_of_b), "MPI_Comm_size");
  if (size_of_a != size_of_b) return false;
  check(MPI_Comm_compare(a, b, &result), "MPI_Comm_compare");
  return result == MPI_CONGRUENT || result == MPI_IDENT;
}

Surroundings look_around(MPI_Comm user, bool objects, std::int64_t mine) {
  std::int64_t host = 0;
  try {
    static const auto known =
        static_cast<std::int64_t>(std::hash<std::string>{}(detect_host()) >> 1U);
    host = known;
  } catch (const std::exception&) {
    objects = true;  // the host is unknown
  }
  // All hosts are equal if the largest and the smallest are.
  const std::array<std::int64_t, 4> given = {host, -host, objects ? 1 : 0, mine};
  std::array<std::int64_t, 4> largest{};
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(given.data(), largest.data(), static_cast<int>(given.size()), MPI_INT64_T,
                       MPI_MAX, user, &request),
        "MPI_Iallreduce");
  wait(request, "MPI_Iallreduce", "the other ranks of its communicator");
  return {largest[0] == -largest[1] && largest[2] == 0, largest[3]};
}

bool between_groups(MPI_Comm user) {
  int flag = 0;
  check(MPI_Comm_test_inter(user, &flag), "MPI_Comm_test_inter");
  return flag != 0;
}

int size_of_other_group(MPI_Comm user) {
  int size = 0;
  if (between_groups(user)) {
    check(MPI_Comm_remote_size(user, &size), "MPI_Comm_remote_size");
  } else {
    check(MPI_Comm_size(user, &size), "MPI_Comm_size");
  }
  return size;
}

}  // namespace vicinal::mpi
