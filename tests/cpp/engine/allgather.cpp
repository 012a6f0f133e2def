// Allgathers over a communicator, beyond the family's tests on complete graphs: plans kept by
// sizes, calls in flight, the planner setting, and faults.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "negotiate/planner.hpp"
#include "world.hpp"

namespace vicinal::allgather_tests {
namespace {

using namespace testing;

/// An allgatherv with its own sizes, which checks itself.
class Gathering {
 public:
  Gathering(MPI_Comm comm, int salt) : comm_(comm), salt_(salt) {
    int place = 0;
    for (int rank = 0; rank < size_of(comm); ++rank) {
      counts_.push_back((rank * 7 + salt) % 5);
      places_.push_back(place);
      place += counts_.back() + salt % 2;  // with or without gaps
    }
    received_.assign(static_cast<std::size_t>(place) + 1, -1);
    for (int i = 0; i < counts_[own()]; ++i) sent_.push_back(value(rank_in(comm), i));
    sent_.push_back(-9);
  }

  int call() {
    return vicinal_allgatherv(sent_.data(), counts_[own()], MPI_INT, received_.data(),
                              counts_.data(), places_.data(), MPI_INT, comm_);
  }
  int begin(vicinal_request* request) {
    return vicinal_iallgatherv(sent_.data(), counts_[own()], MPI_INT, received_.data(),
                               counts_.data(), places_.data(), MPI_INT, comm_, request);
  }

  void verify() const {
    std::vector<int> expected(received_.size(), -1);
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
      for (int i = 0; i < counts_[rank]; ++i) {
        expected[static_cast<std::size_t>(places_[rank]) + static_cast<std::size_t>(i)] =
            value(static_cast<int>(rank), i);
      }
    }
    if (received_ != expected) fail_check(__FILE__, __LINE__, "salt ", salt_, ": wrong values");
  }

 private:
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(rank_in(comm_)); }
  [[nodiscard]] int value(int rank, int i) const { return (rank * 10 + i) * 1000 + salt_; }

  MPI_Comm comm_;
  int salt_;
  std::vector<int> counts_, places_, sent_, received_;
};

}  // namespace

TEST(allgatherv_keeps_plans_by_sizes) {
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(world_size()).c_str()));
  // More sets of sizes than the library keeps, each of them twice.
  for (int round = 0; round < 2; ++round) {
    for (int salt = 0; salt < 20; ++salt) {
      Gathering gathering(comm, salt);
      SUCCEEDS(gathering.call());
      gathering.verify();
    }
  }
}

TEST(many_allgathers_in_flight) {
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(world_size()).c_str()));
  std::vector<std::unique_ptr<Gathering>> gatherings;
  std::vector<vicinal_request> requests(24, VICINAL_REQUEST_NULL);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    gatherings.push_back(std::make_unique<Gathering>(comm, static_cast<int>(i % 4)));
    SUCCEEDS(gatherings.back()->begin(&requests[i]));
  }
  for (std::size_t i = requests.size(); i-- > 0;) {
    SUCCEEDS(vicinal_wait(&requests[i]));
    gatherings[i]->verify();
  }
}

TEST(the_planner_of_allgathers_can_be_set) {
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(world_size()).c_str()));
  const int size = world_size();
  std::vector<int> received(static_cast<std::size_t>(size));
  for (const Planner& planner : planners()) {
    const Hints hints{{"vicinal_allgather", std::string(planner.name)}};
    const int sent = world_rank() + 100;
    RequestHandle request;
    SUCCEEDS(vicinal_allgather_init(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, comm, hints,
                                    &request));
    for (int round = 0; round < 3; ++round) {
      std::fill(received.begin(), received.end(), -1);
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      for (int rank = 0; rank < size; ++rank) {
        CHECK_EQUAL(received[static_cast<std::size_t>(rank)], rank + 100);
      }
    }
  }
}

TEST(allgathers_refuse_other_regions) {
  const Duplicate comm;
  int sent = 1;
  std::vector<int> received(static_cast<std::size_t>(world_size()));
  RequestHandle request;
  CHECK_EQUAL(vicinal_allgather_init(&sent, 1, MPI_INT, received.data(), 1, MPI_INT, comm,
                                     Hints{{"vicinal_regions", "blocks:1"}}, &request),
              MPI_ERR_INFO_VALUE);
  CHECK(std::string(vicinal_error_message()).find("vicinal_set_regions") != std::string::npos);
}

TEST(planners_of_allgathers_leave_what_else_a_graph_has_to_automatic) {
  const Duplicate comm;
  const int rank = world_rank();
  GraphHandle graph;
  const Hints of_graph{{"vicinal_strategy", "bruck"}};
  SUCCEEDS(vicinal_graph_create_complete(comm, of_graph, &graph));
  std::vector<int> sent(static_cast<std::size_t>(world_size()), rank), received(sent.size());
  const auto verify = [&] {
    for (std::size_t i = 0; i < received.size(); ++i) {
      CHECK_EQUAL(received[i], static_cast<int>(i));
      received[i] = -1;
    }
  };
  for (int call = 0; call < 12; ++call) {
    RequestHandle request;
    SUCCEEDS(vicinal_ineighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, graph,
                                        &request));
    SUCCEEDS(vicinal_wait(&request));
    verify();
    SUCCEEDS(
        vicinal_neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, graph));
    verify();
  }
  for (const bool said_again : {false, true}) {
    const MPI_Info info = said_again ? static_cast<MPI_Info>(of_graph) : MPI_INFO_NULL;
    RequestHandle request;
    SUCCEEDS(vicinal_neighbor_alltoall_init(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT,
                                            graph, info, &request));
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    verify();
  }
}

TEST(planners_of_allgathers_are_refused_to_others_that_name_them) {
  const Duplicate comm;
  GraphHandle graph;
  SUCCEEDS(vicinal_graph_create_complete(comm, MPI_INFO_NULL, &graph));
  std::vector<int> sent(static_cast<std::size_t>(world_size())), received(sent.size());
  RequestHandle request;
  FAILS(MPI_ERR_INFO_VALUE,
        vicinal_neighbor_alltoall_init(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, graph,
                                       Hints{{"vicinal_strategy", "bruck"}}, &request),
        "'bruck' serves allgathers only");
}

TEST(allgatherv_with_counts_that_differ_ends_on_all_ranks) {
  const int size = world_size();
  if (size < 2) testing::skip("needs 2 ranks");
  const Duplicate comm;
  std::vector<int> counts(static_cast<std::size_t>(size), 2), places(counts.size());
  for (int rank = 0; rank < size; ++rank) places[static_cast<std::size_t>(rank)] = 3 * rank;
  // The last rank expects more from rank 0 than it sends.
  if (world_rank() == size - 1) counts[0] = 3;
  const int sent[3] = {1, 2, 3};
  std::vector<int> received(static_cast<std::size_t>(3 * size));
  RequestHandle request;
  const int code = vicinal_allgatherv_init(sent, 2, MPI_INT, received.data(), counts.data(),
                                           places.data(), MPI_INT, comm, MPI_INFO_NULL, &request);
  FAILS(MPI_ERR_COUNT, code,
        "the block of rank 0 in this allgather is '8 bytes' on rank 0, but '12 bytes' on rank " +
            std::to_string(size - 1));
}

TEST(allgathers_refuse_buffers_that_share_memory) {
  const int rank = world_rank();
  const auto size = static_cast<std::size_t>(world_size());
  std::vector<int> both(4 * size + 4, -1), ones, places;
  for (int i = 0; i < world_size(); ++i) {
    ones.push_back(2);
    places.push_back(2 * i);
  }
  int* const own = both.data() + 2 * rank;
  const auto refused = [](int code, const char* part) { FAILS(MPI_ERR_BUFFER, code, part); };
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  const char* const said = "MPI_IN_PLACE";
  {
    const Duplicate comm;
    vicinal_request request = VICINAL_REQUEST_NULL;
    refused(vicinal_allgather_init(own, 2, MPI_INT, both.data(), 2, MPI_INT, comm, MPI_INFO_NULL,
                                   &request),
            said);
    // The send data end where the first block begins.
    refused(vicinal_allgather_init(both.data(), 2, MPI_INT, both.data() + 1, 2, MPI_INT, comm,
                                   MPI_INFO_NULL, &request),
            "block of rank 0");
    refused(vicinal_allgatherv_init(own, 2, MPI_INT, both.data(), ones.data(), places.data(),
                                    MPI_INT, comm, MPI_INFO_NULL, &request),
            said);
    refused(vicinal_allgather_init(both.data(), 1, gaps, both.data(), 1, gaps, comm, MPI_INFO_NULL,
                                   &request),
            said);
    CHECK(request == VICINAL_REQUEST_NULL);
  }
  {
    const Duplicate comm;
    refused(vicinal_allgather(own, 2, MPI_INT, both.data(), 2, MPI_INT, comm), said);
  }
  {
    const Duplicate comm;
    refused(
        vicinal_allgatherv(own, 2, MPI_INT, both.data(), ones.data(), places.data(), MPI_INT, comm),
        said);
  }
  // Allowed buffers: in place, adjacent, and empty.
  const Duplicate comm;
  own[0] = own[1] = rank;
  SUCCEEDS(vicinal_allgather(MPI_IN_PLACE, 0, MPI_INT, both.data(), 2, MPI_INT, comm));
  for (std::size_t i = 0; i < 2 * size; ++i) CHECK_EQUAL(both[i], static_cast<int>(i / 2));
  int* const behind = both.data() + 2 * size;
  behind[0] = behind[1] = 5;
  SUCCEEDS(vicinal_allgather(behind, 2, MPI_INT, both.data(), 2, MPI_INT, comm));
  for (std::size_t i = 0; i < 2 * size; ++i) CHECK_EQUAL(both[i], 5);
  SUCCEEDS(vicinal_allgather(both.data(), 0, MPI_INT, both.data(), 0, MPI_INT, comm));
  MPI_Type_free(&gaps);
}

}  // namespace vicinal::allgather_tests
