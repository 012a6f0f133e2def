#include "memory/device/library.hpp"

#include <dlfcn.h>

namespace vicinal::device {

Library::Library(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const char* const said = dlerror();
    if (why_.empty()) why_ = said != nullptr ? said : std::string(name) + " cannot be opened";
  }
}

void* Library::find(const char* name) const { return dlsym(handle_, name); }

}  // namespace vicinal::device
