// A halo's persistent requests in Python.
#pragma once

#include <optional>

#include "mpi_exchange.hpp"
#include "mpi_request.hpp"

namespace vicinal::python {

class HaloRequest final : public PythonRequest {
 public:
  /// Of the reverse where there is an operator. Collective; what is wrong with the arguments is told to all.
  HaloRequest(Halo& halo, nanobind::handle x, nanobind::handle ghosts, nanobind::handle op);
  HaloRequest(const HaloRequest&) = delete;
  HaloRequest& operator=(const HaloRequest&) = delete;
  ~HaloRequest() override { end(); }

  [[nodiscard]] const Plan& executed() override {
    return is_reverse_ ? plan().reverse() : plan().forward();
  }

 private:
  void release_arrays() override;

  bool is_reverse_;
  Operands operands_;
  nanobind::object op_;  ///< in use as long as the request
};

}  // namespace vicinal::python
