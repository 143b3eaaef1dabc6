#include "numerics/cpu/lane_sums.h"

#include <vector>

namespace lockstep::numerics {
namespace {

void tree_of_rows(Cpu& cpu, const LaneBlocks& lanes, std::int64_t width, std::int64_t stride,
                  const float* values, float* out) {
  const float* next = values;
  for (std::int64_t p = 0; p < lanes.partials(); ++p) {
    std::vector<const float*> rows;
    for (std::int64_t i = 0; i < lanes.lanes[static_cast<std::size_t>(p)]; ++i, next += stride) {
      rows.push_back(next);
    }
    cpu.tree_sum(rows.data(), static_cast<std::int64_t>(rows.size()), width, out + p * width);
  }
}

}  // namespace

void tree_over_lanes(Cpu& cpu, const LaneBlocks& lanes, std::int64_t width, const float* values,
                     float* out) {
  tree_of_rows(cpu, lanes, width, width, values, out);
}

void tree_over_samples(Cpu& cpu, const LaneBlocks& lanes, std::int64_t width, float* values,
                       float* out) {
  const std::int64_t stride = lanes.samples_per_lane * width;
  for (std::int64_t lane = 0; lane < lanes.lane_count(); ++lane) {
    float* const sum = values + lane * stride;
    for (std::int64_t i = width; i < stride; ++i) sum[i % width] += sum[i];
  }
  tree_of_rows(cpu, lanes, width, stride, values, out);
}

}  // namespace lockstep::numerics
