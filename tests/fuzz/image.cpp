#include "image.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace fuzz {
namespace {

constexpr std::uint8_t mark = 0xa5;

/// Describes eight bytes, if they have the form of message bytes.
std::string recognized(const std::uint8_t* at, std::size_t rest) {
  if (rest < 8 || at[7] != mark) return "";
  std::ostringstream text;
  text << " (as sent by rank " << int{at[3]} << " along edge " << int{at[4]} << " in call "
       << (at[1] | at[2] << 8) << ", bytes from " << 8 * (at[5] | at[6] << 8) << ")";
  return text.str();
}

}  // namespace

std::uint8_t byte_of(const Origin& origin, std::int64_t i) {
  const auto word = static_cast<std::uint64_t>(i) / 8;
  const auto low = [](std::uint64_t value) { return static_cast<std::uint8_t>(value & 0xffU); };
  switch (i % 8) {
    case 1: return low(origin.call);
    case 2: return low(origin.call >> 8U);
    case 3: return low(static_cast<std::uint64_t>(origin.rank));
    case 4: return low(static_cast<std::uint64_t>(origin.edge));
    case 5: return low(word);
    case 6: return low(word >> 8U);
    case 7: return mark;
    default: break;
  }
  const auto where = static_cast<std::uint64_t>(origin.rank) << 32U |
                     static_cast<std::uint64_t>(static_cast<unsigned>(origin.edge));
  return low(scrambled(scrambled(where) ^ scrambled(origin.call) ^ word));
}

bool are_apart(const std::vector<Piece>& pieces) {
  std::vector<MPI_Aint> places;
  for (const Piece& piece : pieces) {
    for (std::int64_t i = 0; i < piece.bytes(); ++i) places.push_back(piece.place(i));
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) == places.end();
}

Image::Image(const std::vector<Piece>& pieces, std::uint64_t pattern) : pattern_(pattern) {
  MPI_Aint lowest = 0;
  MPI_Aint end = 0;
  for (const Piece& piece : pieces) {
    // An element's bytes may lie anywhere around it; the first and last elements are the extremes.
    const auto size = static_cast<std::int64_t>(piece.layout->bytes());
    for (std::int64_t i = 0; i < std::min(size, piece.bytes()); ++i) {
      for (const std::int64_t byte : {i, piece.bytes() - size + i}) {
        lowest = std::min(lowest, piece.place(byte));
        end = std::max(end, piece.place(byte) + 1);
      }
    }
  }
  allocate(lowest, end);
}

Image::Image(std::int64_t bytes, std::uint64_t pattern) : pattern_(pattern) {
  allocate(0, static_cast<MPI_Aint>(bytes));
}

void Image::allocate(MPI_Aint lowest, MPI_Aint end) {
  zero_ = guard + (-lowest + 15) / 16 * 16;
  expected_.resize(static_cast<std::size_t>(zero_ + end + guard));
  clear();
}

void Image::clear() {
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    expected_[i] = static_cast<std::uint8_t>(0x40U | (scrambled(pattern_ + i) & 0x1fU));
  }
  actual_ = expected_;
}

void Image::put(MPI_Aint place, std::uint8_t value) {
  actual_[static_cast<std::size_t>(zero_ + place)] = value;
  expect(place, value);
}

void Image::expect(MPI_Aint place, std::uint8_t value) {
  expected_[static_cast<std::size_t>(zero_ + place)] = value;
}

void Image::put(const Piece& piece, const Origin& origin) {
  for (std::int64_t i = 0; i < piece.bytes(); ++i) put(piece.place(i), byte_of(origin, i));
}

void Image::expect(const Piece& piece, const Origin& origin) {
  for (std::int64_t i = 0; i < piece.bytes(); ++i) expect(piece.place(i), byte_of(origin, i));
}

std::string Image::fault() const { return fault_of(actual_); }

std::string Image::fault_of(const std::vector<std::uint8_t>& bytes) const {
  const auto [there, wanted] = std::mismatch(bytes.begin(), bytes.end(), expected_.begin());
  if (there == bytes.end()) return "";
  const auto at = static_cast<std::size_t>(there - bytes.begin());
  std::size_t wrong = 0;
  for (std::size_t i = at; i < bytes.size(); ++i) wrong += bytes[i] != expected_[i] ? 1 : 0;
  std::ostringstream text;
  text << "byte " << static_cast<MPI_Aint>(at) - zero_ << " is " << int{*there} << ", not "
       << int{*wanted} << "; " << wrong << " bytes differ";
  // Looks for a whole group of eight around the byte, at any alignment.
  for (std::size_t back = 0; back < 8 && back <= at; ++back) {
    const std::size_t from = at - back;
    const std::string found = recognized(bytes.data() + from, bytes.size() - from);
    const std::string meant = recognized(expected_.data() + from, expected_.size() - from);
    if (!found.empty()) text << "; there is" << found;
    if (!meant.empty()) text << "; expected was" << meant;
  }
  return text.str();
}

}  // namespace fuzz
