// Datatypes, with what they mean worked out beside MPI: where each byte of data lies, in the order in
// which it is sent.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "random.hpp"

namespace fuzz {

/// What a message is made of, on both ends of an edge: so many units, each of the same basic types.
/// A message between derived types is a multiple of this many units, so that every type divides it.
constexpr int units_at_once = 12;

class Layout {
 public:
  /// The type of one unit without gaps between elements; `unit` chooses the basic types.
  static std::shared_ptr<const Layout> plain(int unit);
  /// A type of one to four units, of whatever form.
  static std::shared_ptr<const Layout> derived(int unit, Random& random);
  /// The same number of units as `like`, one after the other.
  static std::shared_ptr<const Layout> dense(int unit, int units);
  /// A type without data.
  static std::shared_ptr<const Layout> empty(Random& random);
  /// How many kinds of units there are, and the bytes of data in one.
  static constexpr int kinds = 6;
  static int unit_bytes(int unit);

  Layout(MPI_Datatype type, bool made, std::vector<MPI_Aint> places, int units, std::string text);
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { release(); }

  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] MPI_Aint extent() const { return extent_; }
  [[nodiscard]] int units() const { return units_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Where the first and last byte of an element lie.
  [[nodiscard]] MPI_Aint lowest() const { return lowest_; }
  [[nodiscard]] MPI_Aint highest() const { return highest_; }
  /// Whether an element may lie between the bytes of another.
  [[nodiscard]] bool interleaves() const { return highest_ - lowest_ >= extent_ && bytes() > 0; }
  /// Bytes of data in an element.
  [[nodiscard]] int bytes() const { return static_cast<int>(places_.size()); }
  /// Where byte `i` of a message lies, from where its first element begins.
  [[nodiscard]] MPI_Aint place(MPI_Aint i) const {
    const auto size = static_cast<MPI_Aint>(places_.size());
    return i / size * extent_ + places_[static_cast<std::size_t>(i % size)];
  }
  /// Gives the type up to MPI, as a program may once it has handed it to a call.
  void release() const;

 private:
  mutable MPI_Datatype type_;
  mutable bool made_;
  std::vector<MPI_Aint> places_;
  MPI_Aint extent_ = 0, lowest_ = 0, highest_ = 0;
  int units_;
  std::string text_;
};

using Layouts = std::shared_ptr<const Layout>;

}  // namespace fuzz
