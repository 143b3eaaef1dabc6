// What a row of each sample does to all of its tokens: adaptive layer norm and gates of diffusion
// transformers.
#include <ATen/ops/cat.h>

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
};

// A sample's rows are summed as a lane's of its own: one chain, no tree.
LaneBlocks one_by_one(std::int64_t samples) {
  return {.samples_per_lane = 1,
          .lanes = std::vector<std::int64_t>(static_cast<std::size_t>(samples), 1)};
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
  const Tensor beta = modulation.narrow(1, 0, s.c).contiguous();
  Tensor gamma = modulation.narrow(1, s.c, s.c).clone(at::MemoryFormat::Contiguous);
  device().binary(Binary::kAdd, s.n * s.c, read(filled({s.n, s.c}, 1.0F)), read(gamma),
                  write(gamma));
  Tensor y = empty(x.sizes()), mean = empty({s.n, s.tokens}), rstd = empty({s.n, s.tokens});
  device().layer_norm(s.n * s.tokens, s.c, eps, read(x), {read(gamma), read(beta), s.tokens},
                      write(y), write(mean), write(rstd));
  return record("adaptive_layer_norm", {x_in, modulation_in}, y, Differentiable::kOnce,
                [=](const Tensor& dy_in, const std::vector<bool>& needed) -> Tensors {
                  const Tensor dy = dy_in.contiguous();
                  Tensor dx = needed[0] ? empty(x.sizes()) : Tensor();
                  Tensor scale = needed[1] ? empty({s.n, s.c}) : Tensor();
                  Tensor shift = needed[1] ? empty({s.n, s.c}) : Tensor();
                  device().layer_norm_backward(
                      s.n * s.tokens, s.c, one_by_one(s.n), s.tokens, read(x),
                      {read(gamma), nullptr, s.tokens}, read(mean), read(rstd), read(dy),
                      needed[0] ? write(dx) : nullptr, needed[1] ? write(scale) : nullptr,
                      needed[1] ? write(shift) : nullptr);
                  return {dx, needed[1] ? at::cat({shift, scale}, 1) : Tensor()};
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
