// Slots on their own: a peer reads from an owner that is one execution ahead.
#include "execute/slots.hpp"

#include "world.hpp"

namespace vicinal::slots_tests {

using namespace testing;

TEST(a_fault_of_a_later_execution_is_none_of_this_one) {
  const auto communicator = mpi::Communicator::of(MPI_COMM_WORLD);
  if (communicator->arena() == nullptr) skip("shared memory");
  const auto header = std::make_shared<SlotHeader>(communicator, 1, 1);
  OwnedSlot owner(header, 0);
  FarSlot reader(header->arena(), header->offset(), 0, 0);
  owner.bind(1, 4, 8, {});
  reader.bind(8);
  CHECK_EQUAL(reader.fault(1), -1);
  CHECK(reader.find(1, 4, host_memory()) == nullptr);

  CHECK(owner.announce(1));
  owner.announce_fault(2, 3);  // the owner's next call fails before the peer has polled
  CHECK_EQUAL(reader.fault(1), -1);
  CHECK(reader.find(1, 4, host_memory()) == owner.data());
  CHECK_EQUAL(reader.fault(2), 3);

  CHECK(owner.announce(3));
  CHECK_EQUAL(reader.fault(3), -1);
  for (const int flag : {-1, 0}) owner.flag(flag).signal(3, 8);
}

}  // namespace vicinal::slots_tests
