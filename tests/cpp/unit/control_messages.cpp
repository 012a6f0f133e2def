// Tests that control messages are read as they were written, and that malformed ones are refused.
#include "base/conversation.hpp"

#include <limits>

#include "check.hpp"

namespace vicinal::control_messages_tests {

enum class Taste { sweet, sour };

struct Fruit {
  Taste taste = Taste::sweet;
  std::int64_t weight = 0;
  bool ripe = false;
};
void fields(auto&& take, Is<Fruit> auto& it) { take(it.taste, it.weight, it.ripe); }

struct Basket {
  static constexpr std::string_view name = "basket";
  std::vector<Fruit> fruits;
  std::optional<Fruit> gift;
  Words numbers;
  std::uint64_t fingerprint = 0;
};
void fields(auto&& take, Is<Basket> auto& it) {
  take(it.fruits, it.gift, it.numbers, it.fingerprint);
}

struct Crate {
  static constexpr std::string_view name = "crate";
  std::vector<Fruit> fruits;
};
void fields(auto&& take, Is<Crate> auto& it) { take(it.fruits); }

namespace {

Basket full_basket() {
  return {
      {{Taste::sour, -7, true}, {Taste::sweet, std::numeric_limits<std::int64_t>::max(), false}},
      Fruit{Taste::sour, 3, false},
      {5, 6, 7},
      std::numeric_limits<std::uint64_t>::max()};
}

}  // namespace

TEST(control_messages_hold_what_was_written) {
  const ControlMessage message = message_to(4, full_basket());
  CHECK_EQUAL(message.peer, 4);
  const auto read = contents_of<Basket>(message);
  CHECK_EQUAL(read.fruits.size(), std::size_t{2});
  CHECK(read.fruits[0].taste == Taste::sour && read.fruits[0].ripe);
  CHECK_EQUAL(read.fruits[0].weight, -7);
  CHECK_EQUAL(read.fruits[1].weight, std::numeric_limits<std::int64_t>::max());
  CHECK(read.gift.has_value());
  CHECK_EQUAL(read.gift->weight, 3);
  CHECK(read.numbers == (Words{5, 6, 7}));
  CHECK_EQUAL(read.fingerprint, std::numeric_limits<std::uint64_t>::max());
  CHECK(!contents_of<Basket>(message_to(4, Basket{})).gift.has_value());
}

TEST(control_messages_are_known_by_their_first_word) {
  const ControlMessage message = message_to(4, Crate{});
  CHECK(holds<Crate>(message) && !holds<Basket>(message));
  CHECK(!holds<Crate>(ControlMessage{4, {}}));
  CHECK_THROWS(Fault::internal, contents_of<Basket>(message),
               "a control message from rank 4 is no basket");
  int crates = 0;
  open<Basket, Crate>(message, Either{[](const Basket&) {}, [&](const Crate&) { ++crates; }});
  CHECK_EQUAL(crates, 1);
  CHECK_THROWS(Fault::internal, open<Basket>(message, [](const Basket&) {}),
               "of no kind that was expected now");
}

TEST(control_messages_that_are_too_short_or_too_long_are_refused) {
  const ControlMessage whole = message_to(2, full_basket());
  for (std::size_t size = 1; size < whole.words.size(); ++size) {
    ControlMessage message = whole;
    message.words.resize(size);
    CHECK_THROWS(Fault::internal, contents_of<Basket>(message),
                 "a control message (basket) from rank 2 ");
  }
  ControlMessage message = whole;
  message.words.push_back(0);
  CHECK_THROWS(Fault::internal, contents_of<Basket>(message), "has 1 words too many");
  message = whole;
  message.words[1] = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS(Fault::internal, contents_of<Basket>(message), "words are left");
}

}  // namespace vicinal::control_messages_tests
