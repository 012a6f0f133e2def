// GPU sources that peers of the host read through an IPC handle, instead of copies in slots.
#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "mpi/deferred.hpp"
#include "unreachable_exchanges.hpp"
#include "users_stream.hpp"

namespace vicinal::lent_sources_tests {
namespace {

using namespace testing;

/// Each rank needs every second number of the next two ranks; even ranks also need the last number
/// of the next rank. Sources remain allocated until all ranks have freed the halo.
class Lending {
 public:
  static constexpr int owned = 6;

  explicit Lending(const DriverDouble& gpu, const char* strategy = "aggregate")
      : array_(arrays_of(gpu.memory())) {
    for (const int ahead : {2, 1}) {
      for (const int i : {4, 0, 2}) needed_.push_back((rank + ahead) % size * owned + i);
    }
    if (rank % 2 == 0) needed_.push_back((rank + 1) % size * owned + 5);
    const Hints hints{{"vicinal_strategy", strategy}, {"vicinal_regions", "node"}};
    halo_ = std::make_unique<HaloHandle>();
    SUCCEEDS(vicinal_halo_create(comm_, rank * owned, (rank + 1) * owned,
                                 static_cast<std::int64_t>(needed_.size()), needed_.data(), hints,
                                 &*halo_));
    into_ =
        std::make_unique<DeviceArray>(array_(repeated(static_cast<int>(needed_.size()) * 2, 0)));
  }
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;
  ~Lending() {
    let_go();
    MPI_Barrier(comm_);
  }
  void let_go() { halo_.reset(); }

  /// Allocates a source that is freed last.
  DeviceArray& keep(const std::vector<std::int64_t>& values) {
    kept_.push_back(array_(values));
    return kept_.back();
  }
  /// Returns the values that this rank owns in a round.
  [[nodiscard]] std::vector<std::int64_t> given(int round) const {
    return numbers(owned, rank * owned + 1000 * round);
  }
  [[nodiscard]] DeviceArray& into() { return *into_; }
  [[nodiscard]] vicinal_request start(const std::int64_t* from) {
    vicinal_request request = nullptr;
    SUCCEEDS(vicinal_halo_start(*halo_, from, into_->data(), 1, MPI_INT64_T, &request));
    return request;
  }
  void exchange(const std::int64_t* from) {
    vicinal_request request = start(from);
    SUCCEEDS(vicinal_wait(&request));
  }
  /// Exchanges pairs of adjacent numbers.
  void exchange_pairs(const std::int64_t* from, MPI_Datatype pair) {
    SUCCEEDS(vicinal_halo_exchange(*halo_, from, into_->data(), 1, pair));
  }
  void check(int round) const {
    std::vector<std::int64_t> expected;
    for (const std::int64_t index : needed_) expected.push_back(index + 1000 * round);
    std::vector<std::int64_t> found = into_->values();
    found.resize(expected.size());
    CHECK(found == expected);
  }
  [[nodiscard]] const std::vector<std::int64_t>& needed() const { return needed_; }
  [[nodiscard]] HaloHandle& halo() { return *halo_; }

  int rank = world_rank(), size = world_size();

 private:
  decltype(arrays_of(std::declval<MemoryKind&>())) array_;
  Duplicate comm_;
  std::list<DeviceArray> kept_;
  std::unique_ptr<DeviceArray> into_;
  std::vector<std::int64_t> needed_;
  std::unique_ptr<HaloHandle> halo_;
};

/// Runs a test with both vendors' drivers, and checks that nothing remains allocated.
template <class Test>
void by_both_drivers(Test test) {
  const Variable by("VICINAL_DEVICE_WAY", "lent");
  for (const char* const path : {DRIVER_DOUBLE_CUDA, DRIVER_DOUBLE_HIP}) {
    const DriverDouble gpu(path);
    const auto first = arrays_of(gpu.memory())({0});
    UsersStream(gpu).be_followed(first);  // the device keeps objects for this
    const long held = gpu.held();
    test(gpu);
    settle(gpu, held);
    CHECK_EQUAL(gpu.get("misuses"), 0);
  }
}

}  // namespace

TEST(who_lends_its_source_may_write_it_when_the_exchange_is_complete) {
  by_both_drivers([](const DriverDouble& gpu) {
    for (const char* const strategy : {"automatic", "aggregate"}) {
      Lending lending(gpu, strategy);
      DeviceArray& source = lending.keep(lending.given(0));
      for (int round = 0; round < 10; ++round) {
        source.fill(lending.given(round));
        lending.exchange(source.data());
        source.fill(repeated(Lending::owned, untouched));
        lending.check(round);
      }
    }
  });
}

TEST(who_lends_its_source_copies_nothing) {
  if (!all_on_one_host() || world_size() < 3) skip("needs three ranks on one host");
  const Variable by("VICINAL_DEVICE_WAY", "lent");
  const DriverDouble gpu;
  const Duplicate comm;
  const int rank = world_rank();
  const auto source = arrays_of(gpu.memory())(numbers(4, 10));
  const auto into = arrays_of(gpu.memory())(repeated(2, untouched));
  {
    const std::vector<std::int64_t> needed =
        rank == 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{3, 1};
    const Hints hints{{"vicinal_regions", "node"}, {"vicinal_in_flight", "1"}};
    HaloHandle halo;
    SUCCEEDS(vicinal_halo_create(comm, 0, rank == 0 ? 4 : 0,
                                 static_cast<std::int64_t>(needed.size()), needed.data(), hints,
                                 &halo));
    const auto exchange = [&] {
      SUCCEEDS(vicinal_halo_exchange(halo, source.data(), into.data(), 1, MPI_INT64_T));
    };
    exchange();
    const long kernels = gpu.get("launches"), copies = gpu.get("copies");
    exchange();
    CHECK_EQUAL(gpu.get("launches") + gpu.get("copies") - kernels - copies, rank == 0 ? 0 : 1);
    if (rank != 0) CHECK(into.values() == (std::vector<std::int64_t>{13, 11}));
  }
  MPI_Barrier(comm);
}

TEST(sources_that_are_lent_may_lie_elsewhere_each_time) {
  by_both_drivers([](const DriverDouble& gpu) {
    Lending lending(gpu);
    // More sources than peers keep open; some are consecutive parts of one allocation.
    std::vector<const std::int64_t*> sources;
    for (int i = 0; i < 6; ++i) {
      auto values = lending.given(i);
      const auto later = lending.given(i + 6);
      values.insert(values.end(), later.begin(), later.end());
      sources.push_back(lending.keep(values).data());
    }
    for (int iteration = 0; iteration < 40; ++iteration) {
      // Ranks change their sources at different times.
      const int which = iteration * (lending.rank % 3) % 6;
      const bool later = (iteration + lending.rank) % 4 == 1;
      lending.exchange(sources[static_cast<std::size_t>(which)] + (later ? Lending::owned : 0));
      std::vector<std::int64_t> expected;
      for (const std::int64_t index : lending.needed()) {
        const int owner = static_cast<int>(index) / Lending::owned;
        const int round = iteration * (owner % 3) % 6 + ((iteration + owner) % 4 == 1 ? 6 : 0);
        expected.push_back(index + 1000 * round);
      }
      auto found = lending.into().values();
      found.resize(expected.size());
      CHECK(found == expected);
    }
  });
}

TEST(sources_are_lent_and_copied_in_turn) {
  if (!kind_of(HostArray({1}).data()).is_reachable()) skip("needs the host's memory");
  by_both_drivers([](const DriverDouble& gpu) {
    Lending lending(gpu);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT64_T, &pair);
    MPI_Type_commit(&pair);
    const auto doubled = [](const std::vector<std::int64_t>& values) {
      std::vector<std::int64_t> result;
      for (const std::int64_t value : values) result.insert(result.end(), {value, -value});
      return result;
    };
    for (int round = 0; round < 24; ++round) {
      // Some sources cannot be shared, and some lie on the host.
      gpu.set("no_sharing", (round + lending.rank) % 5 == 0 ? 1 : 0);
      const bool twos = round % 6 >= 4;
      const std::vector<std::int64_t> values =
          twos ? doubled(lending.given(round)) : lending.given(round);
      HostArray here(values);
      DeviceArray& there = lending.keep(values);
      const std::int64_t* const from = (round + lending.rank) % 7 == 3 ? here.data() : there.data();
      if (!twos) {
        lending.exchange(from);
        lending.check(round);
        continue;
      }
      lending.exchange_pairs(from, pair);
      std::vector<std::int64_t> expected;
      for (const std::int64_t index : lending.needed()) expected.push_back(index + 1000 * round);
      expected = doubled(expected);
      auto found = lending.into().values();
      found.resize(expected.size());
      CHECK(found == expected);
    }
    gpu.set("no_sharing", 0);
    MPI_Type_free(&pair);
  });
}

TEST(what_is_lent_comes_after_a_stream_that_is_followed) {
  by_both_drivers([](const DriverDouble& gpu) {
    Lending lending(gpu);
    DeviceArray& source = lending.keep(repeated(Lending::owned, untouched));
    UsersStream users(gpu);
    for (int round = 1; round < 6; ++round) {
      const DeviceArray later(gpu.memory(), lending.given(round));
      gpu.set("hold", 1);
      users.copy(source, later, Lending::owned);
      users.be_followed(source);
      vicinal_request request = lending.start(source.data());
      int complete = 0;
      for (int i = 0; i < 20; ++i) SUCCEEDS(vicinal_test(&request, &complete));
      CHECK(!complete || lending.size == 1);
      gpu.set("hold", 0);
      if (!complete) SUCCEEDS(vicinal_wait(&request));
      lending.check(round);
    }
  });
}

TEST(a_stream_waits_for_what_was_lent) {
  by_both_drivers([](const DriverDouble& gpu) {
    Lending lending(gpu);
    DeviceArray& source = lending.keep(lending.given(0));
    UsersStream users(gpu);
    for (int round = 0; round < 6; ++round) {
      source.fill(lending.given(round));
      vicinal_request request = lending.start(source.data());
      SUCCEEDS(vicinal_wait_on_stream(&request, users.stream()));
      // From here on, no rank needs another one to call the library.
      MPI_Barrier(MPI_COMM_WORLD);
      users.await();
      lending.check(round);
    }
  });
}

TEST(what_was_lent_is_closed_when_the_exchange_is_freed) {
  by_both_drivers([](const DriverDouble& gpu) {
    // Unfinished deferred tasks, such as those of exchanges left to a stream, must not delay
    // closing.
    const auto over = std::make_shared<bool>(false);
    for (int task = 0; task < 3; ++task) mpi::defer([over] { return *over; });
    Lending lending(gpu);
    DeviceArray& source = lending.keep(lending.given(0));
    UsersStream users(gpu);
    for (int round = 0; round < 4; ++round) {
      vicinal_request request = lending.start(source.data());
      SUCCEEDS(vicinal_wait_on_stream(&request, users.stream()));
      MPI_Barrier(MPI_COMM_WORLD);
      users.await();
    }
    lending.let_go();
    CHECK_EQUAL(gpu.get("opened_blocks"), 0);
    *over = true;
  });
}

TEST(who_cannot_open_what_is_lent_says_so_and_nobody_waits_for_it) {
  by_both_drivers([](const DriverDouble& gpu) {
    Lending lending(gpu);
    DeviceArray& source = lending.keep(lending.given(0));
    gpu.set("no_opening", lending.rank == 0 ? 1 : 0);
    {
      const Forgiving forgiving;
      const int error = vicinal_halo_exchange(lending.halo(), source.data(), lending.into().data(),
                                              1, MPI_INT64_T);
      const std::string said = vicinal_error_message();
      CHECK_EQUAL(error != MPI_SUCCESS, lending.rank == 0 && lending.size > 1);
      if (error != MPI_SUCCESS) {
        CHECK(said.find("another rank's program") != std::string::npos);
        CHECK(said.find("give vicinal_device_way=staged") != std::string::npos);
      }
    }
    gpu.set("no_opening", 0);
    for (int round = 1; round < 8; ++round) {
      source.fill(lending.given(round));
      lending.exchange(source.data());
      lending.check(round);
    }
  });
}

TEST(a_call_that_fails_where_others_lend_is_told_and_the_next_one_is_right) {
  by_both_drivers([](const DriverDouble& gpu) {
    Lending lending(gpu);
    DeviceArray& source = lending.keep(lending.given(0));
    for (int round = 0; round < 9; ++round) {
      source.fill(lending.given(round));
      const bool fails = round % 3 == 1;
      const Forgiving forgiving;
      // Rank 0 passes a null source.
      const void* const from = fails && lending.rank == 0 ? nullptr : source.data();
      const int error =
          vicinal_halo_exchange(lending.halo(), from, lending.into().data(), 1, MPI_INT64_T);
      const bool concerned =
          lending.rank == 0 || std::ranges::any_of(lending.needed(), [&](std::int64_t index) {
            return index / Lending::owned == 0;
          });
      CHECK_EQUAL(error != MPI_SUCCESS, fails && concerned);
      if (!fails) lending.check(round);
    }
  });
}

}  // namespace vicinal::lent_sources_tests
