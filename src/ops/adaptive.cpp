// What a row of each sample does to all of its tokens: adaptive layer norm and gates of diffusion
// transformers.
#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {
namespace {

using numerics::Binary;

// [n, tokens, c], and rows of c a sample.
struct Tokens {
  std::int64_t n, tokens, c;
  explicit Tokens(const Tensor& x) : n(x.size(0)), tokens(x.size(1)), c(x.size(2)) {}
  std::int64_t all() const { return n * tokens * c; }
  std::int64_t sample() const { return tokens * c; }
};

// A sample's rows are summed as a lane's of its own: one chain, no tree.
LaneBlocks one_sample() {
  return {.samples_per_lane = 1, .lanes = {1}};
}

// row [n, c] times each token of x [n, tokens, c].
Tensor times_row(const Tokens& s, const Tensor& row, const Tensor& x) {
  Tensor out = empty({s.n, s.tokens, s.c});
  device().repeat(s.n, s.tokens, s.c, read(row), write(out));
  device().binary(Binary::kMultiply, s.all(), read(out), read(x), write(out));
  return out;
}

}  // namespace

Tensor adaptive_layer_norm(const Tensor& x_in, const Tensor& modulation_in, float eps) {
  LOCKSTEP_ASSERT(x_in.dim() == 3);
  const Tensor x = bare(x_in).contiguous(), modulation = bare(modulation_in).contiguous();
  const Tokens s(x);
  LOCKSTEP_ASSERT(modulation.dim() == 2 && modulation.size(0) == s.n &&
                  modulation.size(1) == 2 * s.c);
  Tensor gamma = modulation.narrow(1, s.c, s.c).clone(at::MemoryFormat::Contiguous);
  device().binary(Binary::kAdd, s.n * s.c, read(filled({s.n, s.c}, 1.0F)), read(gamma),
                  write(gamma));
  Tensor y = empty(x.sizes()), mean = empty({s.n, s.tokens}), rstd = empty({s.n, s.tokens});
  for (std::int64_t i = 0; i < s.n; ++i) {
    device().layer_norm(s.tokens, s.c, eps, read(x) + i * s.sample(), read(gamma) + i * s.c,
                        read(modulation) + i * 2 * s.c, write(y) + i * s.sample(),
                        write(mean) + i * s.tokens, write(rstd) + i * s.tokens);
  }
  return record("adaptive_layer_norm", {x_in, modulation_in}, y, Differentiable::kOnce,
                [=](const Tensor& dy_in, const std::vector<bool>& needed) -> Tensors {
                  const Tensor dy = dy_in.contiguous();
                  Tensor dx = needed[0] ? empty(x.sizes()) : Tensor();
                  Tensor rows = needed[1] ? empty({s.n, 2 * s.c}) : Tensor();
                  for (std::int64_t i = 0; i < s.n; ++i) {
                    float* const shift = needed[1] ? write(rows) + i * 2 * s.c : nullptr;
                    device().layer_norm_backward(
                        s.tokens, s.c, one_sample(), s.tokens, read(x) + i * s.sample(),
                        read(gamma) + i * s.c, read(mean) + i * s.tokens, read(rstd) + i * s.tokens,
                        read(dy) + i * s.sample(), needed[0] ? write(dx) + i * s.sample() : nullptr,
                        needed[1] ? shift + s.c : nullptr, shift);
                  }
                  return {dx, rows};
                });
}

Tensor gated_add(const Tensor& x, const Tensor& branch_in, const Tensor& gate_in) {
  const Tensor branch = bare(branch_in).contiguous(), gate = bare(gate_in).contiguous();
  const Tokens s(branch);
  LOCKSTEP_ASSERT(x.sizes() == branch.sizes() && gate.dim() == 2 && gate.size(0) == s.n &&
                  gate.size(1) == s.c);
  Tensor y = times_row(s, gate, branch);
  device().binary(Binary::kAdd, s.all(), read(bare(x).contiguous()), read(y), write(y));
  return record("gated_add", {x, branch_in, gate_in}, y, Differentiable::kOnce,
                [=](const Tensor& dy_in, const std::vector<bool>& needed) -> Tensors {
                  const Tensor dy = dy_in.contiguous();
                  Tensor dgate;
                  if (needed[2]) {
                    Tensor products = empty(dy.sizes());
                    device().binary(Binary::kMultiply, s.all(), read(dy), read(branch),
                                    write(products));
                    dgate = empty({s.n, s.c});
                    device().spatial_sums(s.n, s.tokens, s.c, read(products), write(dgate));
                  }
                  return {dy_in, needed[1] ? times_row(s, gate, dy) : Tensor(), dgate};
                });
}

}  // namespace lockstep::ops
