// A halo's persistent requests in Python.
#pragma once

#include <optional>

#include "mpi_exchange.hpp"
#include "mpi_request.hpp"

namespace vicinal::python {

class HaloRequest final : public PythonRequest {
 public:
  /// For the reverse if `op` is given. Collective; reports invalid arguments to all ranks.
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
  nanobind::object op_;  ///< kept alive as long as the request
};

}  // namespace vicinal::python
