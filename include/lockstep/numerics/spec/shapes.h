// What kernels are told besides numbers: shapes, strides, and the lengths of blocks and tiles. For
// every device.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/host_device.h"

namespace lockstep::numerics {

// Length of a block of every dot product and sum. Part of the specification.
inline constexpr std::int64_t kBlock = 512;

inline constexpr std::int64_t kTileFloats = 4096;  // a tile: 16 KiB of one tensor

enum class Activation {
  kNone,
  kSilu
};  // fused into the normalisation; same bits as the two in a row

// Rows of c values in one piece of memory, or cut in two: the first `cut` values of each row lie in
// `left`, the others in `right`.
template <class T>
struct Sides {
  T* left;
  T* right = nullptr;
  std::int64_t cut = 0;

  LOCKSTEP_HD Sides(T* whole) : left(whole) {}  // not explicit: most rows are in one piece
  LOCKSTEP_HD Sides(T* left_in, std::int64_t cut_in, T* right_in)
      : left(left_in), right(right_in), cut(cut_in) {}

  // body(data, first, count): values [first, first + count) of each row lie at data, rows `count`
  // apart.
  template <class Body>
  LOCKSTEP_HD void for_each(std::int64_t c, const Body& body) const {
    if (right == nullptr) return body(left, std::int64_t{0}, c);
    body(left, std::int64_t{0}, cut);
    body(right, cut, c - cut);
  }
};

struct GroupNormShape {
  std::int64_t n = 0, spatial = 0, c = 0, groups = 1;  // x: [n][spatial][c]; c divisible by groups
  float eps = 1e-5f;
  Activation activation = Activation::kNone;
};

// Of a normalisation: gamma and beta of c values, both null for none; one for all rows, or, where
// `rows` says so, one for each `rows` rows, one after another.
struct Affine {
  const float* gamma = nullptr;
  const float* beta = nullptr;
  std::int64_t rows = 0;
};

// How many matrices a product has: `batches` times `matrices`.
struct Batch {
  std::int64_t matrices = 1, batches = 1;
  LOCKSTEP_HD Batch(std::int64_t matrices_in,
                    std::int64_t batches_in = 1)  // not explicit: mostly 1
      : matrices(matrices_in), batches(batches_in) {}
  LOCKSTEP_HD std::int64_t all() const { return batches * matrices; }
};

struct Operand {
  const float* data = nullptr;
  std::int64_t row = 0;    // stride between rows (for a: i; for b: k)
  std::int64_t col = 0;    // stride between columns (for a: k; for b: j)
  std::int64_t batch = 0;  // stride between matrices of a batch; 0 repeats one
  std::int64_t outer = 0;  // stride between batches
};

struct Output {
  float* data = nullptr;
  std::int64_t row = 0;  // stride between rows; columns are contiguous
  std::int64_t batch = 0, outer = 0;
};

struct ConvShape {
  std::int64_t n = 0;                 // samples
  std::int64_t h = 0, w = 0, in = 0;  // the image side
  std::int64_t out = 0;               // channels of y
  std::int64_t kh = 1, kw = 1, stride = 1, pad = 0;

  LOCKSTEP_HD std::int64_t out_h() const { return (h + 2 * pad - kh) / stride + 1; }
  LOCKSTEP_HD std::int64_t out_w() const { return (w + 2 * pad - kw) / stride + 1; }
};

// What a convolution adds to each of its results, one rounded addition after another: the channel's
// bias [out]; rows [n][out], the sample's and channel's; values, of the shape of y. Null: nothing.
struct Added {
  const float* bias = nullptr;
  const float* rows = nullptr;
  const float* values = nullptr;

  LOCKSTEP_HD Added(const float* bias_in, const float* rows_in = nullptr,
                    const float* values_in = nullptr)  // not explicit: most add a bias
      : bias(bias_in), rows(rows_in), values(values_in) {}
};

}  // namespace lockstep::numerics
