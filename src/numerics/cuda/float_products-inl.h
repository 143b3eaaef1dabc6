// Private: float matrix products for CUDA (gemm.h): by tiles where operands lie in fours
// (float_sources-inl.h) and offsets fit 31 bits, else one by one (products-inl.h).
#pragma once

#include "numerics/cuda/float_launch-inl.h"
#include "numerics/cuda/float_pads-inl.h"

namespace lockstep::numerics::cuda {

inline bool fits(std::int64_t most) {
  return most < (std::int64_t{1} << 30);
}
// Offsets in a batch of matrices, and the matrices' sizes.
inline bool fits_in(const Batch& z, std::int64_t rows, std::int64_t cols, const Operand& x) {
  return fits(z.all()) && fits(rows) && fits(cols) && fits(x.batch) && fits(x.outer) &&
         fits(x.row) && fits(x.col) && fits(z.matrices * x.batch) && fits(z.batches * x.outer) &&
         fits(rows * x.row) && fits(cols * x.col) &&
         fits(z.matrices * x.batch + z.batches * x.outer + rows * x.row + cols * x.col);
}

inline FloatShape float_shape(std::int64_t batch, std::int64_t m, std::int64_t n,
                              std::int64_t depth) {
  return {static_cast<int>(batch), static_cast<int>(m), static_cast<int>(n),
          static_cast<int>(depth)};
}

// Where matrix z of an operand or of the output begins.
template <class T>
LOCKSTEP_DEVICE inline auto* matrix(const T& x, const Batch& batch, std::int64_t z) {
  return x.data + z / batch.matrices * x.outer + z % batch.matrices * x.batch;
}

// Matrices with any steps between rows and columns.
struct Strided {
  const float* data;
  std::int64_t row, col;
  LOCKSTEP_DEVICE float operator()(std::int64_t i, std::int64_t j) const {
    return data[i * row + j * col];
  }
};
struct StridedBatch {
  Operand x;
  Batch batch;
  LOCKSTEP_DEVICE Strided of(std::int64_t z) const { return {matrix(x, batch, z), x.row, x.col}; }
};

template <class Gpu>
void gemm_by_elements(Gpu& gpu, const Batch& batch, const ProductShape& s, Operand a, Operand b,
                      const float* bias, Output c) {
  const auto result = [=] LOCKSTEP_DEVICE(std::int64_t z, std::int64_t i, std::int64_t j,
                                          float sum) {
    matrix(c, batch, z)[i * c.row + j] = bias == nullptr ? sum : sum + bias[j];
  };
  launch_product(gpu, s, StridedBatch{a, batch}, StridedBatch{b, batch}, result);
}

// Whether floats of the left operand lie in fours, along k or along i.
struct LeftInFours {
  bool along_k, along_i;
  LeftInFours(std::int64_t m, std::int64_t depth, const Operand& a)
      : along_k(a.col == 1 && in_fours(a.data, {depth, a.row, a.batch, a.outer})),
        along_i(a.row == 1 && in_fours(a.data, {m, a.col, a.batch, a.outer})) {}
  bool any() const { return along_k || along_i; }
};

// Left operands that can be padded: one behind the other, in rows along k or along i that are no
// multiple of four.
struct Ragged {
  bool along_k;
  std::int64_t rows, cols;
  bool is;
  Ragged(const Batch& z, std::int64_t m, std::int64_t depth, const Operand& a)
      : along_k(a.col == 1 && a.row == depth),
        rows(along_k ? m : depth),
        cols(along_k ? depth : m),
        is(cols % 4 != 0 && (along_k || (a.row == 1 && a.col == m)) &&
           (z.matrices == 1 || a.batch == rows * cols) &&
           (z.batches == 1 || a.outer == z.matrices * rows * cols)) {}
};

template <class Gpu>
void Device<Gpu>::gemm(Batch batch, std::int64_t m, std::int64_t n, std::int64_t depth, Operand a,
                       Operand b, const float* bias, Output c) {
  const bool along_k_b =
                 b.row == 1 && in_fours(b.data, {depth, n == 1 ? 0 : b.col, b.batch, b.outer}),
             along_j = b.col == 1 && in_fours(b.data, {n, b.row, b.batch, b.outer});
  const bool small = fits_in(batch, m, depth, a) && fits_in(batch, depth, n, b) && depth > 0 &&
                     fits(batch.all() * to_four(m) * to_four(depth));
  const LeftInFours left_in_fours(m, depth, a);
  const Ragged ragged(batch, m, depth, a);
  if (!small || !(left_in_fours.any() || ragged.is) || !(along_k_b || along_j))
    return gemm_by_elements(*gpu_, batch, {batch.all(), m, n, depth}, a, b, bias, c);
  const FloatShape s = float_shape(batch.all(), m, n, depth);
  const auto step = [](std::int64_t floats) { return static_cast<int>(floats); };
  const int count = step(batch.matrices);
  const auto matrices = [&](const Operand& x) {
    return Matrices<int>(count, step(x.batch), step(x.outer));
  };
  const BiasedRows result{c.data, {count, c.batch, c.outer}, c.row, bias};
  const auto with = [&](const auto& left) {
    if (along_j) {
      const RowsAlongOuter right{b.data, matrices(b), step(b.row), s.n, s.depth};
      launch_float(*gpu_, s, left, right, result);
    } else {
      const RowsAlongK right{b.data, matrices(b), step(b.col), s.n, s.depth};
      launch_float(*gpu_, s, left, right, result);
    }
  };
  const auto along = [&](bool k, const float* data, const Matrices<int>& its, std::int64_t row) {
    if (k)
      with(RowsAlongK{data, its, step(row), s.m, s.depth});
    else
      with(RowsAlongOuter{data, its, step(row), s.m, s.depth});
  };
  if (left_in_fours.along_k) return along(true, a.data, matrices(a), a.row);
  if (left_in_fours.along_i) return along(false, a.data, matrices(a), a.col);
  // Weights of attention over a number of tokens that is no multiple of four.
  const auto padded = padded_rows(*gpu_, ragged.rows, ragged.cols, a.data, batch.all());
  const int row = step(to_four(ragged.cols)), matrix = step(ragged.rows) * row;
  along(ragged.along_k, padded.data(), Matrices<int>(count, matrix, count * matrix), row);
}

template <class Gpu>
void linear_by_elements(Gpu& gpu, std::int64_t rows, std::int64_t in, std::int64_t out,
                        Sides<const float> sides, const float* w, const float* bias, float* y) {
  const Sides<const float> x = cut_somewhere(sides, in);
  const auto left = [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t i, std::int64_t k) {
    return column_of(x, in, 0, k)(i);
  };
  const auto result = [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t i, std::int64_t j, float sum) {
    y[i * out + j] = bias == nullptr ? sum : sum + bias[j];
  };
  launch_product(gpu, {1, rows, out, in}, left, Rows{w, out}, result);
}

template <class Gpu>
void Device<Gpu>::linear(std::int64_t rows, std::int64_t in, std::int64_t out, Sides<const float> x,
                         const float* w, const float* bias, float* y) {
  const bool cut = x.right != nullptr;
  const std::int64_t padded_in = cut ? in : to_four(in), padded_out = to_four(out);
  const bool fours = in_fours(x.left, {cut ? x.cut : 0}) && in_fours(w, {}) &&
                     (!cut || in_fours(x.right, {in - x.cut}));
  if (!fours || !fits(rows * padded_in) || !fits(padded_in * padded_out) || !fits(rows) ||
      !fits(rows * out) || in == 0)
    return linear_by_elements(*gpu_, rows, in, out, x, w, bias, y);
  const FloatShape s = float_shape(1, rows, out, padded_in);
  const auto weights = padded_weights(*gpu_, 1, in, out, padded_in, w);
  const auto columns = static_cast<int>(padded_out);
  const RowsAlongOuter right{weights.data(), 0, columns, columns, s.depth};
  const BiasedRows result{y, 0, out, bias};
  if (cut) {
    const int left = static_cast<int>(x.cut);
    const SidesAlongK sides{x.left, x.right, left, s.depth - left, s.m};
    return launch_float(*gpu_, s, sides, right, result);
  }
  const auto activations = padded_rows(*gpu_, rows, in, x.left);
  launch_float(*gpu_, s, RowsAlongK{activations.data(), 0, s.depth, s.m, s.depth}, right, result);
}

template <class Gpu>
void Device<Gpu>::linear_weight_grad(const LaneBlocks& lanes, std::int64_t rows, std::int64_t in,
                                     std::int64_t out, const float* x, const float* dy, float* dw) {
  conv2d_weight_grad({lanes.samples(), rows, 1, in, out, 1, 1, 1, 0}, lanes, x, dy, dw);
}

}  // namespace lockstep::numerics::cuda
