// Inside ops: LibTorch's kernels, a lane at a time (lockstep/ops/native.h). Arguments and results
// are as in ops.h: contiguous, [samples, …], parameters [P, …]; float32, or operands that are
// `rounded`.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lockstep/ops/native.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops::native {

// What prepare_native (lockstep/ops/native.h) does for LibTorch's device `there` with its libraries
// loaded: sets LibTorch's switches, and watches its allocator of a GPU's memory (native_memory.h).
void prepare_on(const at::Device& there, Precision precision, bool fill);

// Of addresses on LibTorch's device `there`, in bytes: what its own allocations have at least.
std::uintptr_t alignment_on(const at::Device& there);

// x for LibTorch's kernels, contiguous and aligned as LibTorch's own allocations are: the bits of
// kernels may depend on it. Of a GPU's tensor, the same memory on LibTorch's own device.
Tensor aligned(const Tensor& x);

inline bool on() {
  return numerics_in_use().native;
}

// Samples [first, first + count), the piece with this number.
struct Piece {
  std::int64_t index, first, count;
  at::ScalarType products;  // of operands: float32 or bfloat16
  // Its rows of x, contiguous and aligned.
  Tensor of(const Tensor& x) const;
  // These as an operand of a product: rounded to nearest, ties to even, where that is bfloat16.
  Tensor factor(const Tensor& x) const;
  // Copies `values`, of either type, to its rows of x.
  void put(const Tensor& values, Tensor& x) const;
  // The same of values + more, added in float32: `more` has such rows, too, or fewer sizes that are
  // repeated.
  void put_sum(const Tensor& values, const Tensor& more, Tensor& x) const;
};
// Calls body once for each piece of `samples` samples, in this thread and the rank's others. Body
// may call LibTorch's kernels: it runs without autograd history, unobserved, on one thread.
// `temporaries`: bytes a sample that it takes beside its results, for a walk that counts
// (ops/memory.h) and does not call it.
void for_each_piece(std::int64_t samples, std::int64_t temporaries,
                    const std::function<void(const Piece&)>& body);
// Bytes of a sample of x [samples, …] as an operand or result of products.
std::int64_t bytes_of_sample(const Tensor& x);

// Whether products' operands are rounded to bfloat16.
inline bool rounds() {
  return on() && numerics_in_use().precision == Precision::kBfloat16;
}
// x [samples, …] so rounded: once for all products that take it.
Tensor rounded(const Tensor& x);
// What lies side by side as one operand: rounded, or float32.
Tensor joined(const SideBySide& x);

// A parameter [P, …] as the pieces' products take it: what `prepare` makes of each slice, which is
// rounded before; aligned.
class Slices {
 public:
  Slices(const LaneBlocks& lanes, const Tensor& parameter,
         const std::function<Tensor(const Tensor&)>& prepare);
  const Tensor& of(const Piece& piece) const;

 private:
  std::vector<Tensor> slices_;         // one, where all partials are the same
  std::vector<std::int64_t> samples_;  // of each partial
};

// Sums rows [lanes, `sizes`] that kernels made, one a lane, to [P, sizes]: the tree over each
// partial's lanes. Float32 and contiguous, unless each partial has one lane.
Tensor tree_over_lanes(const LaneBlocks& lanes, at::IntArrayRef sizes,
                       const std::vector<Tensor>& rows);

// --- kernels
Tensor linear(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b);
Tensor linear_input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w);
// The same, cut in two behind `cut` features.
SideBySide linear_input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w,
                             std::int64_t cut);
Tensor linear_weight_grad(const LaneBlocks& lanes, const Tensor& x, const Tensor& dy);

Tensor conv2d(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b, Conv conv,
              const Epilogue& epilogue);
Tensor conv2d_input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w,
                         const Tensor& b, Conv conv, std::int64_t height, std::int64_t width);
Tensor conv2d_weight_grad(const LaneBlocks& lanes, const Tensor& x, const Tensor& dy, Conv conv,
                          std::int64_t kernel_height, std::int64_t kernel_width);

struct Attended {
  Tensor out, weights;  // [N, tokens, C], [N, heads, tokens, tokens]
};
Attended attention(const Tensor& qkv, std::int64_t heads, double factor);
Tensor attention_backward(const Tensor& qkv, const Tensor& weights, const Tensor& dout,
                          double factor);

}  // namespace lockstep::ops::native
