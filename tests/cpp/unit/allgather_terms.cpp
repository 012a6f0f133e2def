// Equations 1 to 4 of Bienz et al. 2022.
#include "allgather_model.hpp"

#include <cmath>

namespace vicinal {

double postal_seconds(const Sent& sent, const Postal& link) {
  return link.latency * sent.messages + link.seconds_per_byte * sent.bytes;
}

double locality_seconds(const Sent& local, const Postal& near, const Sent& non_local,
                        const Postal& far) {
  return postal_seconds(local, near) + postal_seconds(non_local, far);
}

Sent bruck_sent(const AllgatherModel& model) {
  return {std::log2(model.ranks), model.bytes() - model.bytes_per_rank};
}

double locality_steps(const AllgatherModel& model) {
  return std::log(model.regions()) / std::log(model.ranks_per_region);
}

Sent locality_bruck_non_local(const AllgatherModel& model) {
  // A geometric series: the sum of p_l^i over the steps.
  const double blocks =
      model.ranks_per_region * (model.regions() - 1) / (model.ranks_per_region - 1);
  return {locality_steps(model), blocks * model.bytes_per_rank};
}

Sent locality_bruck_local(const AllgatherModel& model) {
  const double sharings = locality_steps(model) + 1;
  // After the i-th local allgather (from 0), each rank has p_l^(i+1) blocks. It sends all of them
  // except one member's.
  const double blocks = model.ranks - 1;
  return {std::log2(model.ranks_per_region) * sharings, blocks * model.bytes_per_rank};
}

double bruck_seconds(const AllgatherModel& model, const Postal& far) {
  return postal_seconds({std::log2(model.ranks), model.bytes() - 1}, far);
}

double locality_bruck_seconds(const AllgatherModel& model, const Postal& near, const Postal& far) {
  return locality_seconds({locality_steps(model) + 1, model.bytes() - 1}, near,
                          {locality_steps(model), model.bytes() / model.ranks_per_region}, far);
}

}  // namespace vicinal
