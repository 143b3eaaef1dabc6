// Private: sums for CUDA (reduce.h, tree.h): chains (chains-inl.h) and trees, a thread an output.
#pragma once

#include <vector>

#include "lockstep/core/error.h"
#include "numerics/cuda/chains-inl.h"

namespace lockstep::numerics::cuda {

// The tree over `count` leaves, without recursion: sums of 2^k leaves wait until their sibling is
// there (a binary counter); what is left over joins from the right, as in spec/tree.h.
template <class Value, class Leaf, class Merge>
LOCKSTEP_DEVICE inline Value fold_tree(std::int64_t count, const Leaf& leaf, const Merge& merge) {
  Value waiting[48];
  int depth = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    Value sum = leaf(i);
    for (std::int64_t filled = i; (filled & 1) != 0; filled >>= 1)
      sum = merge(waiting[--depth], sum);
    waiting[depth++] = sum;
  }
  Value sum = waiting[--depth];
  while (depth > 0) sum = merge(waiting[--depth], sum);
  return sum;
}

// The same of floats in rows: leaf i is values[i * stride].
LOCKSTEP_DEVICE inline float fold_rows(std::int64_t count, std::int64_t stride,
                                       const float* values) {
  return fold_tree<float>(
      count, [=](std::int64_t i) { return values[i * stride]; },
      [](float a, float b) { return a + b; });
}

// Of each partial its first lane and how many it has, for kernels.
struct Partial {
  std::int64_t first, count;
};

inline std::vector<Partial> partials_of(const LaneBlocks& lanes) {
  std::vector<Partial> partials;
  std::int64_t first = 0;
  for (const std::int64_t count : lanes.lanes) {
    partials.push_back({first, count});
    first += count;
  }
  return partials;
}

// How often the walk joins two subtrees after each of the nodes, which tile [0, total).
inline std::vector<int> joins_of(std::int64_t total, std::span<const Subtree> nodes) {
  std::vector<int> joins(nodes.size());
  std::size_t next = 0;
  const auto walk = [&](const auto& self, Subtree node) -> void {
    LOCKSTEP_ASSERT(next < nodes.size(), "partials do not cover the tree");
    if (nodes[next] == node) return void(++next);
    LOCKSTEP_ASSERT(node.count > 1 && nodes[next].count < node.count,
                    "partial " + std::to_string(next) + " is not a node of the tree");
    const std::int64_t left = tree_split(node.count);
    self(self, {node.first, left});
    self(self, {node.first + left, node.count - left});
    ++joins[next - 1];
  };
  walk(walk, {0, total});
  LOCKSTEP_ASSERT(next == nodes.size(), "more partials than the tree has");
  return joins;
}

// out[partials][width] = the tree over each partial's lanes of values[lanes][width].
template <class Gpu>
void tree_over_lanes(Gpu& gpu, const LaneBlocks& lanes, std::int64_t width, const float* values,
                     float* out) {
  const std::vector<Partial> host = partials_of(lanes);
  const Upload<Gpu, Partial> partials(gpu, host);
  const Partial* const all = partials.data();
  const std::int64_t n = lanes.partials() * width;
  const auto body = [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const Partial one = all[i / width];
    out[i] = fold_rows(one.count, width, values + one.first * width + i % width);
  };
  gpu.launch(grid_of(n), Each<decltype(body)>{n, body});
}

template <class Gpu>
void Device<Gpu>::row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  row_chains(
      *gpu_, cols, rows,
      [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t row) {
        return x[row * cols + k];
      },
      out);
}

template <class Gpu>
void Device<Gpu>::row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                           float* out) {
  row_products(
      *gpu_, cols, rows,
      [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t row) {
        return Term{a[row * cols + k], b[row * cols + k]};
      },
      out);
}

template <class Gpu>
void Device<Gpu>::row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a,
                                        const float* b, float* out) {
  row_products(
      *gpu_, cols, rows,
      [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t row) {
        const float d = a[row * cols + k] - b[row * cols + k];
        return Term{d, d};
      },
      out);
}

// For each of `groups` groups of rows x[rows][cols] the sum of each column.
template <class Gpu>
void sums_of_columns(Gpu& gpu, std::int64_t groups, std::int64_t rows, std::int64_t cols,
                     const float* x, float* out) {
  column_sums(
      gpu, groups, rows, cols,
      [=] LOCKSTEP_DEVICE(std::int64_t group, std::int64_t row, std::int64_t col) {
        return x[(group * rows + row) * cols + col];
      },
      out);
}

template <class Gpu>
void Device<Gpu>::spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                               float* out) {
  sums_of_columns(*gpu_, n, spatial, c, x, out);
}

template <class Gpu>
void Device<Gpu>::lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                                   const float* x, float* out) {
  const Scratch<Gpu, float> sums(*gpu_, lanes.lane_count() * cols);
  sums_of_columns(*gpu_, lanes.lane_count(), lanes.samples_per_lane * rows, cols, x, sums.data());
  tree_over_lanes(*gpu_, lanes, cols, sums.data(), out);
}

template <class Gpu>
void Device<Gpu>::lane_column_dots(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                                   const float* a, const float* b, float* out) {
  const Scratch<Gpu, float> sums(*gpu_, lanes.lane_count() * cols);
  const std::int64_t lane_rows = lanes.samples_per_lane * rows;
  column_dots(
      *gpu_, lanes.lane_count(), lane_rows, cols,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t row, std::int64_t col) {
        const std::int64_t i = (lane * lane_rows + row) * cols + col;
        return Term{a[i], b[i]};
      },
      sums.data());
  tree_over_lanes(*gpu_, lanes, cols, sums.data(), out);
}

// Behind the last element the terms are +0 times +0: a sum of squares is never -0, so it stays.
template <class Gpu>
void Device<Gpu>::tile_squares(std::int64_t n, const float* x, float* out) {
  const std::int64_t tiles = (n + kTileFloats - 1) / kTileFloats;
  row_products(
      *gpu_, n < kTileFloats ? n : kTileFloats, tiles,
      [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t tile) {
        const std::int64_t i = tile * kTileFloats + k;
        const float value = i < n ? x[i] : 0.0F;
        return Term{value, value};
      },
      out);
}

template <class Gpu>
void Device<Gpu>::tree_sum(const float* const* rows, std::int64_t count, std::int64_t width,
                           float* out) {
  const Upload<Gpu, const float*> list(*gpu_, std::span(rows, static_cast<std::size_t>(count)));
  const float* const* const all = list.data();
  each(width, [=] LOCKSTEP_DEVICE(std::int64_t j) {
    out[j] = fold_tree<float>(
        count, [&](std::int64_t i) { return all[i][j]; }, [](float a, float b) { return a + b; });
  });
}

template <class Gpu>
void Device<Gpu>::tree_sum_nodes(std::int64_t total, std::span<const Subtree> nodes,
                                 const float* const* rows, std::int64_t width, float* out) {
  const std::vector<int> joins = joins_of(total, nodes);
  const Upload<Gpu, const float*> list(*gpu_, std::span(rows, nodes.size()));
  const Upload<Gpu, int> join(*gpu_, joins);
  const float* const* const all = list.data();
  const int* const after = join.data();
  const auto count = static_cast<std::int64_t>(nodes.size());
  each(width, [=] LOCKSTEP_DEVICE(std::int64_t j) {
    float waiting[64];
    int depth = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      float sum = all[i][j];
      for (int k = 0; k < after[i]; ++k) sum = waiting[--depth] + sum;
      waiting[depth++] = sum;
    }
    out[j] = waiting[0];
  });
}

}  // namespace lockstep::numerics::cuda
