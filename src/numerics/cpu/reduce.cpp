
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/tree.h"
#include "numerics/cpu/lane_sums.h"
#include "numerics/cpu/reduce_kernels.h"

namespace lockstep::numerics {
namespace {

// Rows a piece: about 16 Ki elements, and whole vectors of rows.
std::int64_t row_grain(std::int64_t cols) {
  constexpr std::int64_t kElements = 16384;
  return (cols >= kElements ? 1 : kElements / (cols + 1) + 1) * 16;
}

}  // namespace

void Cpu::row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  const ReduceKernels& kernels = reduce_kernels(isa());
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    kernels.row_sums(end - begin, cols, x + begin * cols, out + begin);
  });
}

void Cpu::row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                   float* out) {
  const ReduceKernels& kernels = reduce_kernels(isa());
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    kernels.row_dots(end - begin, cols, a + begin * cols, b + begin * cols, out + begin);
  });
}

void Cpu::row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a,
                                const float* b, float* out) {
  const ReduceKernels& kernels = reduce_kernels(isa());
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    kernels.row_squared_distances(end - begin, cols, a + begin * cols, b + begin * cols,
                                  out + begin);
  });
}

void Cpu::spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                       float* out) {
  const ReduceKernels& kernels = reduce_kernels(isa());
  parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      kernels.column_sums(spatial, c, c, x + i * spatial * c, out + i * c);
    }
  });
}

void Cpu::lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                           const float* x, float* out) {
  const ReduceKernels& kernels = reduce_kernels(isa());
  const std::int64_t lane_rows = lanes.samples_per_lane * rows;
  std::vector<float> sums(static_cast<std::size_t>(lanes.lane_count() * cols));
  for_each_lane_chunk(*this, lanes, cols,
                      [&](std::int64_t lane, std::int64_t j, std::int64_t width) {
                        kernels.column_sums(lane_rows, width, cols, x + lane * lane_rows * cols + j,
                                            sums.data() + lane * cols + j);
                      });
  tree_over_lanes(*this, lanes, cols, sums.data(), out);
}

void Cpu::tile_squares(std::span<const std::span<const float>> tensors, float* out) {
  const ReduceKernels& kernels = reduce_kernels(isa());
  for (const std::span<const float> tensor : tensors) {
    const float* const x = tensor.data();
    const std::int64_t n = std::ssize(tensor), tiles = (n + kTileFloats - 1) / kTileFloats;
    parallel_for(tiles, 8, [&](std::int64_t begin, std::int64_t end) {
      const bool ends_short = end == tiles && n % kTileFloats != 0;
      const std::int64_t whole = ends_short ? end - 1 : end;
      kernels.row_squares(whole - begin, kTileFloats, x + begin * kTileFloats, out + begin);
      if (ends_short) {
        kernels.row_squares(1, n % kTileFloats, x + whole * kTileFloats, out + whole);
      }
    });
    out += tiles;
  }
}

float norm_of(std::span<const float> squares) {
  if (squares.empty()) return 0;
  const auto square = [&](std::int64_t i) { return squares[static_cast<std::size_t>(i)]; };
  return spec::sqrt(
      tree_fold(0, std::ssize(squares), square, [](float a, float b) { return a + b; }));
}

}  // namespace lockstep::numerics
