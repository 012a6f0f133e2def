// The library's errors in Python. Every module of the package raises the one class vicinal.Error,
// which is written in Python, so that it exists whichever of the modules is loaded.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

#include "base/error.hpp"

namespace vicinal::python {

/// From now on an Error that leaves a function of this module is raised as vicinal.Error.
inline void translate_errors() {
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nanobind::object type = nanobind::module_::import_("vicinal._errors").attr("Error");
      const nanobind::object value = type(error.what(), name(error.fault()));
      PyErr_SetObject(type.ptr(), value.ptr());
    }
  });
}

}  // namespace vicinal::python
