// Private: sums for CUDA (reduce.h, tree.h): a thread an output, its chain in order.
#pragma once

#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/operations.h"
#include "numerics/cuda/device.h"

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

// out[columns of rows groups]: for each group of `rows` rows of `cols` columns the sum of each
// column.
template <class Gpu, class Step>
void column_chains(Gpu& gpu, std::int64_t groups, std::int64_t rows, std::int64_t cols,
                   const Step& step, float* out) {
  const auto body = [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t group = i / cols, column = i % cols;
    out[i] = blocked_chain(rows, [&](float acc, std::int64_t row) {
      return step(acc, (group * rows + row) * cols + column);
    });
  };
  gpu.launch(grid_of(groups * cols), Each<decltype(body)>{groups * cols, body});
}

struct AddTo {
  const float* x;
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t i) const { return acc + x[i]; }
};
struct AddProductTo {
  const float* a;
  const float* b;
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t i) const {
    return spec::fma(a[i], b[i], acc);
  }
};

template <class Gpu>
void Device<Gpu>::row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  each(rows, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = blocked_chain(cols, [&](float acc, std::int64_t j) { return acc + x[i * cols + j]; });
  });
}

template <class Gpu>
void Device<Gpu>::row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                           float* out) {
  each(rows, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = blocked_chain(cols, [&](float acc, std::int64_t j) {
      return spec::fma(a[i * cols + j], b[i * cols + j], acc);
    });
  });
}

template <class Gpu>
void Device<Gpu>::row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a,
                                        const float* b, float* out) {
  each(rows, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = blocked_chain(cols, [&](float acc, std::int64_t j) {
      const float d = a[i * cols + j] - b[i * cols + j];
      return spec::fma(d, d, acc);
    });
  });
}

template <class Gpu>
void Device<Gpu>::spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                               float* out) {
  column_chains(*gpu_, n, spatial, c, AddTo{x}, out);
}

template <class Gpu>
void Device<Gpu>::lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                                   const float* x, float* out) {
  const Scratch<Gpu, float> sums(*gpu_, lanes.lane_count() * cols);
  column_chains(*gpu_, lanes.lane_count(), lanes.samples_per_lane * rows, cols, AddTo{x},
                sums.data());
  tree_over_lanes(*gpu_, lanes, cols, sums.data(), out);
}

template <class Gpu>
void Device<Gpu>::lane_column_dots(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                                   const float* a, const float* b, float* out) {
  const Scratch<Gpu, float> sums(*gpu_, lanes.lane_count() * cols);
  column_chains(*gpu_, lanes.lane_count(), lanes.samples_per_lane * rows, cols, AddProductTo{a, b},
                sums.data());
  tree_over_lanes(*gpu_, lanes, cols, sums.data(), out);
}

template <class Gpu>
void Device<Gpu>::tile_squares(std::int64_t n, const float* x, float* out) {
  each((n + kTileFloats - 1) / kTileFloats, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const float* const tile = x + i * kTileFloats;
    const std::int64_t left = n - i * kTileFloats;
    out[i] = blocked_chain(left < kTileFloats ? left : kTileFloats, [&](float acc, std::int64_t j) {
      return spec::fma(tile[j], tile[j], acc);
    });
  });
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
