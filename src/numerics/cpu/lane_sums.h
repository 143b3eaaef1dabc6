// Private: from one row of sums a lane to one a partial.
#pragma once

#include <cstdint>

#include "lockstep/numerics/cpu.h"

namespace lockstep::numerics {

// values: a row of `width` sums a lane. out [partials][width]: the tree over each partial's lanes.
void tree_over_lanes(Cpu& cpu, const LaneBlocks& lanes, std::int64_t width, const float* values,
                     float* out);

// values: a row of `width` sums a sample. A lane's samples are added in order (the first as it is),
// then the tree. Overwrites `values`.
void tree_over_samples(Cpu& cpu, const LaneBlocks& lanes, std::int64_t width, float* values,
                       float* out);

// Columns that one thread sums at a time: enough independent chains for any vector width.
inline constexpr std::int64_t kColumnChunk = 64;

// body(lane, first column, width) for chunks of columns of every lane, in parallel.
template <class Body>
void for_each_lane_chunk(Cpu& cpu, const LaneBlocks& lanes, std::int64_t cols, const Body& body) {
  const std::int64_t chunks = (cols + kColumnChunk - 1) / kColumnChunk;
  cpu.parallel_for(lanes.lane_count() * chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = i % chunks * kColumnChunk;
      const std::int64_t left = cols - column;
      body(i / chunks, column, left < kColumnChunk ? left : kColumnChunk);
    }
  });
}

}  // namespace lockstep::numerics
