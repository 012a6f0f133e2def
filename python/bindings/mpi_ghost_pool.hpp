// Arrays of ghosts for exchanges that get none from the user.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "mpi_array.hpp"

namespace vicinal::python {

/// Reuses the arrays that it has made, once no other object holds them.
class GhostPool {
 public:
  nanobind::object get(const Array& owned, Index ghost_count) {
    const bool by_columns = !owned.by_rows();
    std::vector<Index> trailing;
    for (int i = 1; i < owned.dimensions(); ++i) trailing.push_back(owned.extent(i));
    for (const Entry& entry : entries_) {
      if (entry.type == owned.type() && entry.by_columns == by_columns &&
          entry.trailing == trailing && Py_REFCNT(entry.array.ptr()) == 1) {
        return entry.array;
      }
    }
    nanobind::object array = nanobind::module_::import_("vicinal._arrays")
                                 .attr("ghosts_like")(owned.object(), ghost_count, by_columns);
    // Records and similar types differ in more than their size.
    if (owned.type().kind != 'V') {
      if (entries_.size() == most) entries_.erase(entries_.begin());
      entries_.push_back({owned.type(), std::move(trailing), by_columns, array});
    }
    return array;
  }

 private:
  static constexpr std::size_t most = 16;
  struct Entry {
    ValueType type;
    std::vector<Index> trailing;
    bool by_columns;
    nanobind::object array;
  };
  std::vector<Entry> entries_;
};

}  // namespace vicinal::python
