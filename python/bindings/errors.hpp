// Translation of the library's errors to Python. Every module of the package raises the class
// vicinal.Error. It is written in Python, so that it does not depend on the module that is loaded.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

#include "base/error.hpp"

namespace vicinal::python {

/// Makes this module raise vicinal.Error for each Error that leaves one of its functions.
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
