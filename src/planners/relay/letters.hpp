// The letters of a negotiation. Each begins with its kind and the sender's status, so that a fault
// travels with whatever would have been said.
#pragma once

#include <initializer_list>
#include <span>

#include "base/conversation.hpp"
#include "planners/faults.hpp"

namespace vicinal {

/// The letters of a superstep that are there while a rank waits for the others.
using Arrived = std::span<const Letter>;

enum class LetterKind : std::int64_t {
  summary,       ///< to the region: loads of all links
  stream,        ///< contributor to leader
  introduction,  ///< leader to the other region's gate, and gate to its leaders
  placement,     ///< sending leader to contributor
  layout,        ///< sending leader to receiving leader
  verdict,       ///< receiving leader to consumer
  tag,           ///< contributor to sending leader, where there is no slot
  delivery,      ///< receiving leader to consumer
  offer,         ///< sender to receiver of a straight or published link
  expectation,   ///< receiver to sender of a straight or published link
};

inline Words begin_letter(LetterKind kind, const Status& status,
                          std::initializer_list<std::int64_t> words = {}) {
  Words result{static_cast<std::int64_t>(kind), status.fault(), status.rank()};
  result.insert(result.end(), words);
  return result;
}

/// Reads a letter word by word.
class Reader {
 public:
  explicit Reader(const Letter& letter) : letter_(letter) {}

  LetterKind kind() const { return static_cast<LetterKind>(letter_.words[0]); }
  int peer() const { return letter_.peer; }
  bool good() const { return letter_.words[1] < 0; }
  void copy_status(Status& status) const {
    if (!good())
      status.report(static_cast<Fault>(letter_.words[1]), static_cast<int>(letter_.words[2]));
  }
  std::int64_t word() { return letter_.words[at_++]; }
  int rank() { return static_cast<int>(word()); }
  std::size_t size() { return static_cast<std::size_t>(word()); }
  bool more() const { return at_ < letter_.words.size(); }

 private:
  const Letter& letter_;
  std::size_t at_ = 3;
};

}  // namespace vicinal
