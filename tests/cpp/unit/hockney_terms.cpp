// Sharifian et al. 2024, equations 1 to 8.
#include "hockney.hpp"

#include <algorithm>
#include <cmath>

namespace vicinal {

namespace {

double message_seconds(const Hockney& link, double bytes) {
  return link.latency + bytes / link.bandwidth;
}

}  // namespace

double halving_steps(const RandomGraphModel& graph) {
  return std::ceil(std::log2(graph.ranks / graph.ranks_per_region)) + 1;
}

double off_region_messages(const RandomGraphModel& graph) {
  return std::min(halving_steps(graph), graph.density * (graph.ranks - graph.ranks_per_region));
}

double in_region_messages(const RandomGraphModel& graph) {
  return (1 - std::pow(1 - graph.density, halving_steps(graph) + 1)) * graph.ranks_per_region;
}

double in_region_bytes(const RandomGraphModel& graph, double bytes) {
  return graph.density * in_region_messages(graph) * bytes;
}

double direct_rank_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes) {
  return 2 * graph.density * graph.ranks * message_seconds(link, bytes);
}

double direct_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes) {
  return graph.regions_per_node * graph.ranks_per_region * direct_rank_seconds(graph, link, bytes);
}

double off_region_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes) {
  const double messages = off_region_messages(graph);
  return messages * link.latency + (std::exp2(messages + 1) - 1) * bytes / link.bandwidth;
}

double in_region_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes) {
  return in_region_messages(graph) * message_seconds(link, in_region_bytes(graph, bytes));
}

double halving_seconds(const RandomGraphModel& graph, const Hockney& link, double bytes) {
  return 2 * graph.regions_per_node * graph.ranks_per_region *
         (off_region_seconds(graph, link, bytes) + in_region_seconds(graph, link, bytes));
}

}  // namespace vicinal
