// Letters: what is written is read, and nothing else is taken for it.
#include "base/letters.hpp"

#include <limits>

#include "check.hpp"

namespace vicinal::letters_tests {

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

TEST(letters_hold_what_was_written) {
  const Letter letter = letter_to(4, full_basket());
  CHECK_EQUAL(letter.peer, 4);
  const auto read = contents_of<Basket>(letter);
  CHECK_EQUAL(read.fruits.size(), std::size_t{2});
  CHECK(read.fruits[0].taste == Taste::sour && read.fruits[0].ripe);
  CHECK_EQUAL(read.fruits[0].weight, -7);
  CHECK_EQUAL(read.fruits[1].weight, std::numeric_limits<std::int64_t>::max());
  CHECK(read.gift.has_value());
  CHECK_EQUAL(read.gift->weight, 3);
  CHECK(read.numbers == (Words{5, 6, 7}));
  CHECK_EQUAL(read.fingerprint, std::numeric_limits<std::uint64_t>::max());
  CHECK(!contents_of<Basket>(letter_to(4, Basket{})).gift.has_value());
}

TEST(letters_are_known_by_their_first_word) {
  const Letter letter = letter_to(4, Crate{});
  CHECK(holds<Crate>(letter) && !holds<Basket>(letter));
  CHECK(!holds<Crate>(Letter{4, {}}));
  CHECK_THROWS(Fault::internal, contents_of<Basket>(letter), "a letter from rank 4 is no basket");
  int crates = 0;
  open<Basket, Crate>(letter, Either{[](const Basket&) {}, [&](const Crate&) { ++crates; }});
  CHECK_EQUAL(crates, 1);
  CHECK_THROWS(Fault::internal, open<Basket>(letter, [](const Basket&) {}),
               "of no kind that was expected now");
}

TEST(letters_that_are_too_short_or_too_long_are_refused) {
  const Letter whole = letter_to(2, full_basket());
  for (std::size_t size = 1; size < whole.words.size(); ++size) {
    Letter letter = whole;
    letter.words.resize(size);
    CHECK_THROWS(Fault::internal, contents_of<Basket>(letter), "a letter (basket) from rank 2 ");
  }
  Letter letter = whole;
  letter.words.push_back(0);
  CHECK_THROWS(Fault::internal, contents_of<Basket>(letter), "has 1 words too many");
  letter = whole;
  letter.words[1] = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS(Fault::internal, contents_of<Basket>(letter), "words are left");
}

}  // namespace vicinal::letters_tests
