#include "layout.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fuzz {
namespace {

/// The basic types of one unit: their MPI types, their positions, and the unit's extent.
struct Unit {
  const char* name;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> places;
  std::vector<int> sizes;
  MPI_Aint extent;
};

const Unit& unit_of(int number) {
  static const std::vector<Unit> all{
      {"byte", {MPI_BYTE}, {0}, {1}, 1},
      {"short", {MPI_SHORT}, {0}, {2}, 2},
      {"int", {MPI_INT}, {0}, {4}, 4},
      {"int64", {MPI_INT64_T}, {0}, {8}, 8},
      {"double", {MPI_DOUBLE}, {0}, {8}, 8},
      {"mixed", {MPI_CHAR, MPI_INT64_T, MPI_SHORT}, {0, 8, 2}, {1, 8, 2}, 16},
  };
  return all[static_cast<std::size_t>(number)];
}

/// Returns the positions of the bytes of units at these places (in extents of a unit).
std::vector<MPI_Aint> spread(const Unit& unit, const std::vector<int>& units) {
  std::vector<MPI_Aint> places;
  for (const int place : units) {
    for (std::size_t i = 0; i < unit.types.size(); ++i) {
      for (int byte = 0; byte < unit.sizes[i]; ++byte) {
        places.push_back(place * unit.extent + unit.places[i] + byte);
      }
    }
  }
  return places;
}

MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower_bound, MPI_Aint extent) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(type, lower_bound, extent, &made);
  return made;
}

/// Returns the MPI type of one unit; sets `made` if the caller must free it.
MPI_Datatype unit_type(const Unit& unit, bool& made) {
  made = unit.types.size() > 1;
  if (!made) return unit.types.front();
  MPI_Datatype gathered = MPI_DATATYPE_NULL;
  const std::vector<int> ones(unit.types.size(), 1);
  MPI_Type_create_struct(static_cast<int>(unit.types.size()), ones.data(), unit.places.data(),
                         unit.types.data(), &gathered);
  const MPI_Datatype type = resized(gathered, 0, unit.extent);
  MPI_Type_free(&gathered);
  return type;
}

/// Makes types of several units.
class Maker {
 public:
  explicit Maker(int number) : unit_(unit_of(number)), inner_(unit_type(unit_, made_)) {}
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  ~Maker() {
    if (made_) MPI_Type_free(&inner_);
  }
  [[nodiscard]] const Unit& unit() const { return unit_; }
  [[nodiscard]] MPI_Datatype inner() const { return inner_; }

  Layouts finish(MPI_Datatype type, const std::vector<int>& places, const std::string& form) {
    MPI_Type_commit(&type);
    return std::make_shared<const Layout>(
        type, true, spread(unit_, places), static_cast<int>(places.size()),
        form + " of " + std::to_string(places.size()) + " " + unit_.name);
  }
  /// Makes an indexed type with one unit at each place, resized to an extent in units.
  Layouts indexed(const std::vector<int>& places, int lower_bound, int extent,
                  const std::string& form) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const std::vector<int> ones(places.size(), 1);
    MPI_Type_indexed(static_cast<int>(places.size()), ones.data(), places.data(), inner_, &type);
    const MPI_Datatype sized = resized(type, lower_bound * unit_.extent, extent * unit_.extent);
    MPI_Type_free(&type);
    return finish(sized, places, form);
  }

 private:
  const Unit& unit_;
  bool made_ = false;
  MPI_Datatype inner_;
};

std::vector<int> every(int stride, int units) {
  std::vector<int> places(static_cast<std::size_t>(units));
  for (int i = 0; i < units; ++i) places[static_cast<std::size_t>(i)] = i * stride;
  return places;
}

}  // namespace

int Layout::unit_bytes(int unit) {
  const Unit& it = unit_of(unit);
  return std::accumulate(it.sizes.begin(), it.sizes.end(), 0);
}

Layout::Layout(MPI_Datatype type, bool made, std::vector<MPI_Aint> places, int units,
               std::string text)
    : type_(type), made_(made), places_(std::move(places)), units_(units), text_(std::move(text)) {
  MPI_Aint lower_bound = 0;
  MPI_Type_get_extent(type_, &lower_bound, &extent_);
  if (places_.empty()) return;
  const auto [lowest, highest] = std::minmax_element(places_.begin(), places_.end());
  lowest_ = *lowest;
  highest_ = *highest;
}

void Layout::release() const {
  if (made_) MPI_Type_free(&type_);
  made_ = false;
}

Layouts Layout::plain(int unit) {
  const Unit& it = unit_of(unit);
  if (it.types.size() > 1) return dense(unit, 1);
  return std::make_shared<const Layout>(it.types.front(), false, spread(it, {0}), 1, it.name);
}

Layouts Layout::dense(int unit, int units) {
  Maker maker(unit);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(units, maker.inner(), &type);
  return maker.finish(type, every(1, units), "contiguous");
}

Layouts Layout::empty(Random& random) {
  MPI_Datatype nothing = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Datatype type = resized(nothing, 0, 4 * random.below(3));
  MPI_Type_free(&nothing);
  MPI_Type_commit(&type);
  return std::make_shared<const Layout>(type, true, std::vector<MPI_Aint>(), 0, "no data");
}

Layouts Layout::derived(int unit, Random& random) {
  Maker maker(unit);
  const int units = random.between(1, 4);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  switch (random.below(9)) {
    case 0: return plain(unit);
    case 1: {
      MPI_Type_dup(maker.inner(), &type);
      return maker.finish(type, {0}, "duplicate");
    }
    case 2: return dense(unit, units);
    case 3: {
      const int stride = random.between(2, 3);
      MPI_Type_vector(units, 1, stride, maker.inner(), &type);
      return maker.finish(type, every(stride, units), "vector");
    }
    case 4: {
      std::vector<int> places = every(random.between(1, 2), units);
      random.shuffle(places);
      return maker.indexed(places, 0, units * 2, "shuffled");
    }
    case 5:
      return maker.indexed(every(1, units), 0, units + random.between(1, 5), "with a long extent");
    case 6: {
      // Elements interleave: the extent is smaller than the size.
      return maker.indexed(every(24, units), 0, 1, "interleaved");
    }
    case 7: {
      std::vector<int> places = every(1, units);
      for (int& place : places) place -= 3;
      return maker.indexed(places, -4, 6, "with a negative lower bound");
    }
    default: {
      const int sizes[] = {units, 3}, parts[] = {units, 1}, starts[] = {0, 1};
      MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, maker.inner(), &type);
      std::vector<int> places = every(3, units);
      for (int& place : places) ++place;
      return maker.finish(type, places, "subarray");
    }
  }
}

}  // namespace fuzz
