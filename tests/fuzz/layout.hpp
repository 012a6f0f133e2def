// Datatypes with their layout, computed without MPI: the position of each byte, in the order in
// which it is sent.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "random.hpp"

namespace fuzz {

/// A message consists of units of the same basic types at both ends of an edge. Between derived
/// types, their number is a multiple of this one, so that every type divides it.
constexpr int units_at_once = 12;

class Layout {
 public:
  /// Returns the type of one unit without gaps between elements; `unit` chooses the basic types.
  static std::shared_ptr<const Layout> plain(int unit);
  /// Returns a type of one to four units, in a random form.
  static std::shared_ptr<const Layout> derived(int unit, Random& random);
  /// Returns a type of `units` contiguous units.
  static std::shared_ptr<const Layout> dense(int unit, int units);
  /// Returns a type without data.
  static std::shared_ptr<const Layout> empty(Random& random);
  /// Number of kinds of units, and the bytes of data in one.
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
  /// Positions of the lowest and highest byte of an element.
  [[nodiscard]] MPI_Aint lowest() const { return lowest_; }
  [[nodiscard]] MPI_Aint highest() const { return highest_; }
  /// Returns whether an element may lie between the bytes of another.
  [[nodiscard]] bool interleaves() const { return highest_ - lowest_ >= extent_ && bytes() > 0; }
  /// Returns the bytes of data in an element.
  [[nodiscard]] int bytes() const { return static_cast<int>(places_.size()); }
  /// Returns the position of byte `i` of a message, relative to its first element.
  [[nodiscard]] MPI_Aint place(MPI_Aint i) const {
    const auto size = static_cast<MPI_Aint>(places_.size());
    return i / size * extent_ + places_[static_cast<std::size_t>(i % size)];
  }
  /// Frees the MPI type, as a program may after passing it to a call.
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
