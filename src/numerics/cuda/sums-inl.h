// Private: sums for CUDA (reduce.h, tree.h): chains (chains-inl.h) and trees, a thread an output.
#pragma once

#include <vector>

#include "lockstep/core/error.h"
#include "numerics/cuda/chains-inl.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/tensors-inl.h"

namespace lockstep::numerics::cuda {

// Leaves [i, i + kCount), i a multiple of kCount: a subtree. Sums of 2^k leaves wait until their
// sibling is there (a binary counter).
template <int kCount, class Value, class Read, class Merge>
LOCKSTEP_DEVICE inline void add_subtree(std::int64_t i, const Read& read, const Merge& merge,
                                        Value* waiting, int& depth) {
  Value of[kCount];
  read(i, of);
  LOCKSTEP_UNROLL
  for (int span = 1; span < kCount; span *= 2) {
    LOCKSTEP_UNROLL
    for (int n = 0; n < kCount; n += 2 * span) of[n] = merge(of[n], of[n + span]);
  }
  Value sum = of[0];
  for (std::int64_t filled = i / kCount; (filled & 1) != 0; filled >>= 1)
    sum = merge(waiting[--depth], sum);
  waiting[depth++] = sum;
}

// The tree over `count` leaves, without recursion: what is left over joins from the right, as in
// spec/tree.h. Eight leaves are on their way at a time: read(i, values) reads i, i + 1, …, as many
// as there are values.
template <class Value, class Read, class Merge>
LOCKSTEP_DEVICE inline Value fold_tree(std::int64_t count, const Read& read, const Merge& merge) {
  Value waiting[48];
  int depth = 0;
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) add_subtree<8>(i, read, merge, waiting, depth);
  if ((count & 4) != 0) add_subtree<4>(i, read, merge, waiting, depth), i += 4;
  if ((count & 2) != 0) add_subtree<2>(i, read, merge, waiting, depth), i += 2;
  if ((count & 1) != 0) add_subtree<1>(i, read, merge, waiting, depth);
  Value sum = waiting[--depth];
  while (depth > 0) sum = merge(waiting[--depth], sum);
  return sum;
}

// The same of floats.
template <class Read>
LOCKSTEP_DEVICE inline float fold_sums(std::int64_t count, const Read& read) {
  return fold_tree<float>(count, read, [](float a, float b) { return a + b; });
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

struct LanesOfPartial {
  std::int64_t first, count;
};

// Of each partial its first lane and how many it has; in the device's memory since lanes were first
// cut like this.
template <class Gpu>
const LanesOfPartial* Device<Gpu>::partials_of(const LaneBlocks& lanes) {
  auto& known = partials_[lanes.lanes];
  if (!known) {
    std::vector<LanesOfPartial> partials;
    std::int64_t first = 0;
    for (const std::int64_t count : lanes.lanes) {
      partials.push_back({first, count});
      first += count;
    }
    known = std::make_unique<Upload<Gpu, LanesOfPartial>>(*gpu_, partials);
  }
  return known->data();
}

// Element i of out[partials][width]: the tree over its partial's lanes of value(lane * width + j),
// of which several are read by value.some (elements.h); behind them those of `more`, of a second
// value.
template <class Value, class Second>
struct LaneTrees {
  std::int64_t n;  // of each
  Divisor by_width;
  const LanesOfPartial* partials;
  Value value;
  float* out;
  Second second;
  float* more;

  LOCKSTEP_DEVICE void operator()(std::int64_t i) const {
    if (i < n)
      out[i] = tree(value, i);
    else
      more[i - n] = tree(second, i - n);
  }

 private:
  template <class Of>
  LOCKSTEP_DEVICE float tree(const Of& of, std::int64_t i) const {
    const std::int64_t partial = by_width.quotient(i), width = by_width.value();
    const LanesOfPartial one = partials[partial];
    const std::int64_t first = one.first * width + (i - partial * width);
    return fold_sums(one.count, [&](std::int64_t lane, auto& values) {
      of.some(first + lane * width, width, values);
    });
  }
};

template <class Gpu>
template <class Value>
void Device<Gpu>::tree_over_lanes(const LaneBlocks& lanes, std::int64_t width, const Value& value,
                                  float* out) {
  const std::int64_t n = lanes.partials() * width;
  each(n, LaneTrees<Value, Value>{n, Divisor(width, n), partials_of(lanes), value, out, value,
                                  nullptr});
}
template <class Gpu>
template <class Value, class Second>
void Device<Gpu>::tree_over_lanes(const LaneBlocks& lanes, std::int64_t width, const Value& value,
                                  float* out, const Second& second, float* more) {
  const std::int64_t n = lanes.partials() * width;
  each(2 * n, LaneTrees<Value, Second>{n, Divisor(width, n), partials_of(lanes), value, out, second,
                                       more});
}

// Of a lane its samples' values in order, the first as it is.
template <class Value>
class OverSamples {
 public:
  OverSamples(const LaneBlocks& lanes, std::int64_t width, const Value& value)
      : samples_(lanes.samples_per_lane),
        by_width_(width, lanes.lane_count() * width),
        value_(value) {}

  // Of lanes one after another: `step` is the width. Of few, several samples are on their way, else
  // one of each.
  template <int kCount>
  LOCKSTEP_DEVICE void some(std::int64_t i, std::int64_t step, float (&sums)[kCount]) const {
    const std::int64_t first = i + by_width_.quotient(i) * (samples_ - 1) * step;
    if constexpr (kCount < 4) {
      LOCKSTEP_UNROLL
      for (int n = 0; n < kCount; ++n)
        sums[n] = add_in_order(value_, first + n * samples_ * step, step, samples_);
    } else {
      value_.some(first, samples_ * step, sums);
      for (std::int64_t sample = 1; sample < samples_; ++sample) {
        float more[kCount];
        value_.some(first + sample * step, samples_ * step, more);
        LOCKSTEP_UNROLL
        for (int n = 0; n < kCount; ++n) sums[n] = sums[n] + more[n];
      }
    }
  }

 private:
  std::int64_t samples_;
  Divisor by_width_;
  Value value_;
};

// Of two numbers, both factors of the square of their difference.
struct SquaredDifference {
  LOCKSTEP_DEVICE Term operator()(const Term& of) const {
    const float d = of.u - of.v;
    return {d, d};
  }
};

// Of dy, x, mean and rstd: dy and its factor in a norm's gradients.
struct DyAndXhat {
  LOCKSTEP_DEVICE Term operator()(const Floats<4>& of) const {
    return {of.of[0], (of.of[1] - of.of[2]) * of.of[3]};
  }
};

template <class Gpu>
void Device<Gpu>::row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  row_chains(*gpu_, cols, rows, out,
             [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t row) {
               return x[row * cols + k];
             });
}

template <class Gpu>
void Device<Gpu>::row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                           float* out) {
  row_products(*gpu_, cols, rows, out,
               [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t row) {
                 return Term{a[row * cols + k], b[row * cols + k]};
               });
}

template <class Gpu>
void Device<Gpu>::row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a,
                                        const float* b, float* out) {
  row_products(
      *gpu_, cols, rows, out,
      [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t row) {
        return Term{a[row * cols + k], b[row * cols + k]};
      },
      SquaredDifference());
}

// x[groups][rows][cols], for the sums of its columns.
struct Columns {
  const float* x;
  std::int64_t rows, cols;
  LOCKSTEP_DEVICE Column<const float> operator()(std::int64_t group, std::int64_t row,
                                                 std::int64_t col) const {
    return {x + (group * rows + row) * cols + col, cols};
  }
};

// A column, and a number that its terms have in common.
struct ColumnBeside {
  Column<const float> x;
  float beside;
  LOCKSTEP_DEVICE Term operator()(int k) const { return {x(k), beside}; }
};

template <class Gpu>
void Device<Gpu>::spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                               float* out) {
  chains<Neighbours::kChains, Fold::kSums>(*gpu_, n, spatial, c, out, Columns{x, spatial, c});
}

template <class Gpu>
void Device<Gpu>::lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                                   const float* x, float* out) {
  const std::int64_t lane_rows = lanes.samples_per_lane * rows;
  const ColumnSums<Gpu> folded(*gpu_, lanes.lane_count(), lane_rows, cols,
                               Columns{x, lane_rows, cols});
  tree_over_lanes(lanes, cols, folded.sums(), out);
}

// Behind a tile's last element the terms are +0 times +0: a sum of squares is never -0, so it
// stays.
template <class Gpu>
void Device<Gpu>::tile_squares(std::span<const std::span<const float>> tensors, float* out) {
  const std::vector<TensorTile<const float>> list = tiles_of(tensors);
  const Upload<Gpu, TensorTile<const float>> table(*gpu_, list);
  std::int64_t most = 0;
  for (const auto& tile : list) most = tile.n > most ? tile.n : most;
  row_products(
      *gpu_, most, std::ssize(list), out,
      [tiles = table.data()] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t i) {
        const TensorTile<const float> tile = tiles[i];
        const float read = tile.data[k < tile.n ? k : 0];  // without a branch
        const float value = k < tile.n ? read : 0.0F;
        return Term{value, value};
      });
}

template <class Gpu>
void Device<Gpu>::tree_sum(const float* const* rows, std::int64_t count, std::int64_t width,
                           float* out) {
  const Upload<Gpu, const float*> list(*gpu_, std::span(rows, static_cast<std::size_t>(count)));
  const float* const* const all = list.data();
  each(width, [=] LOCKSTEP_DEVICE(std::int64_t j) {
    out[j] = fold_sums(count, [&]<int kCount>(std::int64_t i, float(&values)[kCount]) {
      LOCKSTEP_UNROLL
      for (int n = 0; n < kCount; ++n) values[n] = all[i + n][j];
    });
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
