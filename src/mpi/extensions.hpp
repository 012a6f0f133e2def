// What other layers keep with a communicator: one object of each type that anyone asks for, made when it is
// first asked for. A layer chooses a type that nobody else names, and whose constructor asks for nothing.
//
// Any thread may ask at any time, and gets the same object; what it does with that is its own affair.
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
  /// The object of this type. It stays where it is until clear().
  template <class T>
  T& of() {
    const Lock lock(mutex_);
    std::shared_ptr<void>& place = kept_[typeid(T)];
    if (!place) place = std::make_shared<T>();
    return *static_cast<T*>(place.get());
  }
  /// Destroys them all, under no lock: what they hold may ask for others.
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
