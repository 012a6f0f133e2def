// Objects that other layers keep with a communicator: one object of each type, constructed on first
// use. A layer uses a type that no other layer names, with a default constructor.
//
// Thread-safe: any thread may ask at any time, and gets the same object. Access to that object is
// not synchronized.
#pragma once

#include <map>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <utility>

#include "base/guarded.hpp"

namespace vicinal::mpi {

class Extensions {
 public:
  /// Returns the object of type T. Its address is stable until clear().
  template <class T>
  T& of() {
    const Lock lock(mutex_);
    std::shared_ptr<void>& place = kept_[typeid(T)];
    if (!place) place = std::make_shared<T>();
    return *static_cast<T*>(place.get());
  }
  /// Destroys all objects, without the lock held: their destructors may call of().
  void clear() {
    decltype(kept_) last;  // destroyed after the lock
    const Lock lock(mutex_);
    last.swap(kept_);
  }

 private:
  Mutex mutex_;
  std::map<std::type_index, std::shared_ptr<void>> kept_ VICINAL_GUARDED_BY(mutex_);
};

}  // namespace vicinal::mpi
