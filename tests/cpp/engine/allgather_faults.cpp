// Allgathers over one communicator after faults. A call or plan that fails on one rank leaves the
// communicator usable, in all forms, repeatedly.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/setting.hpp"
#include "world.hpp"

namespace vicinal::allgather_faults_tests {
namespace {

using namespace testing;

/// Arguments that a rank gives to an allgather, right or wrong.
struct Arguments {
  const int* send = nullptr;
  int send_count = 2;
  MPI_Datatype type = MPI_INT;
  int* receive = nullptr;
  int receive_count = 2;
};

struct Mistake {
  int error_class;
  const char* part;
  std::function<void(Arguments&)> make;
};

const std::vector<Mistake>& faults() {
  static const std::vector<Mistake> all{
      {MPI_ERR_COUNT, "sendcount is -2", [](Arguments& a) { a.send_count = -2; }},
      {MPI_ERR_COUNT, "recvcount", [](Arguments& a) { a.receive_count = -1; }},
      {MPI_ERR_COUNT, "", [](Arguments& a) { a.send_count = 1; }},
      {MPI_ERR_BUFFER, "send buffer is null", [](Arguments& a) { a.send = nullptr; }},
      {MPI_ERR_BUFFER, "receive buffer is null", [](Arguments& a) { a.receive = nullptr; }},
      {MPI_ERR_TYPE, "recvtype: the datatype is MPI_DATATYPE_NULL",
       [](Arguments& a) { a.type = MPI_DATATYPE_NULL; }}};
  return all;
}

/// Allgathers of two numbers per rank on one communicator, in which the last rank makes the
/// mistakes.
class Gatherings {
 public:
  explicit Gatherings(const std::string& regions) {
    SUCCEEDS(vicinal_set_regions(comm_, regions.c_str()));
    for (int rank = 0; rank < size_; ++rank) {
      counts_.push_back(1 + rank % 2);
      places_.push_back(3 * rank);
    }
  }

  Arguments arguments() {
    ++round_;
    for (int i = 0; i < 2; ++i) sent_[static_cast<std::size_t>(i)] = value(rank_, i);
    std::fill(received_.begin(), received_.end(), -1);
    Arguments given;
    given.send = sent_.data();
    given.receive = received_.data();
    return given;
  }

  int call(const Arguments& a) {
    return vicinal_allgather(a.send, a.send_count, a.type, a.receive, a.receive_count, a.type,
                             comm_);
  }
  int begin(const Arguments& a, vicinal_request* request) {
    return vicinal_iallgather(a.send, a.send_count, a.type, a.receive, a.receive_count, a.type,
                              comm_, request);
  }
  int plan(const Arguments& a, vicinal_request* request, MPI_Info info = MPI_INFO_NULL) {
    return vicinal_allgather_init(a.send, a.send_count, a.type, a.receive, a.receive_count, a.type,
                                  comm_, info, request);
  }
  int call_with_counts(const Arguments& a) {
    const int own = counts_[static_cast<std::size_t>(rank_)];
    const int given = a.send_count == 2 ? own : a.send_count == 1 ? own + 1 : a.send_count;
    std::vector<int> counts = counts_;
    if (a.receive_count < 0) counts[0] = a.receive_count;
    return vicinal_allgatherv(a.send, given, a.type, a.receive, counts.data(), places_.data(),
                              a.type, comm_);
  }

  /// Returns arguments, with the given mistake on the last rank.
  Arguments with(const Mistake& fault) {
    Arguments given = arguments();
    if (is_failed_rank()) fault.make(given);
    return given;
  }
  /// Checks the error code; all ranks depend on the failed one. Several ranks detect a count
  /// mismatch, which both ends of an edge see.
  void told(const Mistake& fault, int code) const {
    if (is_failed_rank()) {
      FAILS(fault.error_class, code, fault.part);
    } else if (code == MPI_ERR_COUNT && fault.error_class == MPI_ERR_COUNT) {
      FAILS(MPI_ERR_COUNT, code, "rank");
    } else {
      FAILS(MPI_ERR_OTHER, code, "rank");
    }
  }

  /// Checks that correct calls succeed in all forms.
  void verify_all_forms() {
    SUCCEEDS(call(arguments()));
    verify(false);
    SUCCEEDS(call_with_counts(arguments()));
    verify(true);
    vicinal_request request = VICINAL_REQUEST_NULL;
    SUCCEEDS(begin(arguments(), &request));
    SUCCEEDS(vicinal_wait(&request));
    CHECK(request == VICINAL_REQUEST_NULL);
    verify(false);
    RequestHandle kept;
    SUCCEEDS(plan(arguments(), &kept));
    for (int i = 0; i < 2; ++i) {
      arguments();
      SUCCEEDS(vicinal_start(&kept));
      SUCCEEDS(vicinal_wait(&kept));
      verify(false);
    }
  }

  [[nodiscard]] bool is_failed_rank() const { return rank_ == size_ - 1; }

 private:
  [[nodiscard]] int value(int rank, int i) const { return (rank * 10 + i) * 1000 + round_; }

  /// Checks the received data: two numbers from each rank, or as many as its count says.
  void verify(bool by_counts) const {
    std::vector<int> expected(received_.size(), -1);
    for (int rank = 0; rank < size_; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const int numbers = by_counts ? counts_[at] : 2, place = by_counts ? places_[at] : 2 * rank;
      for (int i = 0; i < numbers; ++i) {
        expected[static_cast<std::size_t>(place + i)] = value(rank, i);
      }
    }
    if (received_ != expected) fail_check(__FILE__, __LINE__, "round ", round_, ": wrong values");
  }

  int rank_ = world_rank();
  int size_ = world_size();
  int round_ = 0;
  Duplicate comm_;
  std::vector<int> sent_ = std::vector<int>(3, -9);
  std::vector<int> received_ = std::vector<int>(3 * static_cast<std::size_t>(size_), -1);
  std::vector<int> counts_, places_;
};

/// Checks that correct calls succeed after each mistake in one form of call.
template <class Call>
void go_on_after(Call call) {
  Gatherings gatherings(few_regions(world_size()));
  for (int round = 0; round < 3; ++round) {
    for (const Mistake& fault : faults()) {
      gatherings.told(fault, call(gatherings, gatherings.with(fault)));
      gatherings.verify_all_forms();
    }
  }
}

}  // namespace

TEST(allgathers_go_on_after_a_blocking_one_that_failed) {
  go_on_after([](Gatherings& all, const Arguments& given) { return all.call(given); });
}

TEST(allgathers_go_on_after_several_in_a_row_that_failed) {
  Gatherings gatherings(few_regions(world_size()));
  for (int round = 0; round < 3; ++round) {
    for (const Mistake& fault : faults()) {
      const Arguments given = gatherings.with(fault);
      gatherings.told(fault, gatherings.call(given));
    }
    gatherings.verify_all_forms();
  }
}

TEST(allgathers_go_on_after_one_with_counts_that_failed) {
  go_on_after([](Gatherings& all, const Arguments& given) { return all.call_with_counts(given); });
}

TEST(allgathers_go_on_after_a_nonblocking_one_that_failed) {
  go_on_after([](Gatherings& all, const Arguments& given) {
    vicinal_request request = VICINAL_REQUEST_NULL;
    const int code = all.begin(given, &request);
    if (all.is_failed_rank()) {
      CHECK(request == VICINAL_REQUEST_NULL);
      return code;
    }
    SUCCEEDS(code);
    return vicinal_wait(&request);
  });
}

TEST(allgathers_go_on_after_a_plan_that_failed) {
  Gatherings gatherings(few_regions(world_size()));
  const Hints unreadable{{"vicinal_local", "nowhere"}};
  const Mistake bad_info{MPI_ERR_INFO_VALUE, "nowhere", [](Arguments&) {}};
  for (int round = 0; round < 3; ++round) {
    for (const Mistake& fault : faults()) {
      const Arguments given = gatherings.with(fault);
      RequestHandle request;
      gatherings.told(fault, gatherings.plan(given, &request));
      CHECK(static_cast<vicinal_request>(request) == VICINAL_REQUEST_NULL);
      gatherings.verify_all_forms();
    }
    if (environment_value("vicinal_local")) continue;  // the environment overrides the info key
    RequestHandle request;
    const MPI_Info info = gatherings.is_failed_rank() ? MPI_Info{unreadable} : MPI_INFO_NULL;
    gatherings.told(bad_info, gatherings.plan(gatherings.arguments(), &request, info));
    gatherings.verify_all_forms();
  }
}

TEST(allgathers_with_counts_that_would_go_another_way_are_told) {
  // One rank's blocks are so large that another planner would be fastest there. A plan of its own
  // would wait for control messages forever. Afterwards the communicator works as before.
  const int size = world_size();
  if (size < 2) testing::skip("needs 2 ranks");
  Gatherings gatherings(few_regions(size));
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(size).c_str()));
  for (int odd = 0; odd < size; odd += size - 1) {
    for (const int large : {1, 1 << 10, 1 << 18}) {
      const int count = world_rank() == odd ? large : 2;
      const auto block = static_cast<std::size_t>(count);
      const std::vector<int> sent(block, world_rank());
      std::vector<int> received(block * static_cast<std::size_t>(size));
      RequestHandle request;
      FAILS(MPI_ERR_COUNT,
            vicinal_allgather_init(sent.data(), count, MPI_INT, received.data(), count, MPI_INT,
                                   comm, MPI_INFO_NULL, &request),
            "the block of rank 0 in this allgather is");
      CHECK(static_cast<vicinal_request>(request) == VICINAL_REQUEST_NULL);
    }
    gatherings.verify_all_forms();
  }
}

}  // namespace vicinal::allgather_faults_tests
