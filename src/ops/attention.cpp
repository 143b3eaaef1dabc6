// Scaled dot-product attention (Vaswani et al. 2017) over batched products and softmax.
#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "ops/native.h"

namespace lockstep::ops {
namespace {

// One sample's matrices lie side by side: qkv is [tokens, 3C], head h of q at columns h*d, of k at
// C + h*d…
struct Shape {
  std::int64_t n, tokens, c, heads;
  std::int64_t d() const { return c / heads; }
  std::int64_t matrix() const { return tokens * tokens; }
  numerics::Batch all() const { return {heads, n}; }
};

// part 0, 1, 2 = q, k, v of all samples and heads, rows = tokens.
numerics::Operand part(const Shape& s, const float* qkv, int which) {
  return {qkv + which * s.c, 3 * s.c, 1, s.d(), s.tokens * 3 * s.c};
}
numerics::Operand transposed(numerics::Operand m) {
  return {m.data, m.col, m.row, m.batch, m.outer};
}
numerics::Operand weights(const Shape& s, const float* p) {
  return {p, s.tokens, 1, s.matrix(), s.heads * s.matrix()};
}
numerics::Output to_weights(const Shape& s, float* p) {
  return {p, s.tokens, s.matrix(), s.heads * s.matrix()};
}

using native::Attended;

// What the kernels compute, portable.
Attended values_of(const Shape& s, const Tensor& qkv, float factor) {
  Attended all{empty({s.n, s.tokens, s.c}), empty({s.n, s.heads, s.tokens, s.tokens})};
  float* const p = write(all.weights);
  device().gemm(s.all(), s.tokens, s.tokens, s.d(), part(s, read(qkv), 0),
                transposed(part(s, read(qkv), 1)), nullptr, to_weights(s, p));
  device().softmax(s.n * s.heads * s.tokens, s.tokens, factor, p, p);
  device().gemm(s.all(), s.tokens, s.d(), s.tokens, weights(s, p), part(s, read(qkv), 2), nullptr,
                {write(all.out), s.c, s.d(), s.tokens * s.c});
  return all;
}

Tensor gradient_of(const Shape& s, const Tensor& qkv, const Tensor& p, const Tensor& dout,
                   float factor) {
  Tensor dqkv = empty(qkv.sizes()), dp = empty(p.sizes());
  const auto gradient = [&](int which) {
    return numerics::Output{write(dqkv) + which * s.c, 3 * s.c, s.d(), s.tokens * 3 * s.c};
  };
  const numerics::Operand d{read(dout), s.c, 1, s.d(), s.tokens * s.c};
  device().gemm(s.all(), s.tokens, s.tokens, s.d(), d, transposed(part(s, read(qkv), 2)), nullptr,
                to_weights(s, write(dp)));
  device().gemm(s.all(), s.tokens, s.d(), s.tokens, transposed(weights(s, read(p))), d, nullptr,
                gradient(2));
  device().softmax_backward(s.n * s.heads * s.tokens, s.tokens, factor, read(p), read(dp),
                            write(dp));
  device().gemm(s.all(), s.tokens, s.d(), s.tokens, weights(s, read(dp)), part(s, read(qkv), 1),
                nullptr, gradient(0));
  device().gemm(s.all(), s.tokens, s.d(), s.tokens, transposed(weights(s, read(dp))),
                part(s, read(qkv), 0), nullptr, gradient(1));
  return dqkv;
}

}  // namespace

Tensor attention(const Tensor& qkv_in, std::int64_t heads) {
  const Tensor qkv = bare(qkv_in).contiguous();
  const Shape s{qkv.size(0), qkv.size(1), qkv.size(2) / 3, heads};
  LOCKSTEP_ASSERT(qkv.dim() == 3 && s.c * 3 == qkv.size(2) && s.c % heads == 0);
  const auto factor = static_cast<float>(1.0 / numerics::host::sqrt(static_cast<double>(s.d())));
  const auto [out, weights] =
      native::on() ? native::attention(qkv, heads, factor) : values_of(s, qkv, factor);
  return record("attention", {qkv_in}, out, Differentiable::kOnce,
                [=, p = weights](const Tensor& dout, const std::vector<bool>&) -> Tensors {
                  return {native::on() ? native::attention_backward(qkv, p, dout, factor)
                                       : gradient_of(s, qkv, p, dout, factor)};
                });
}

}  // namespace lockstep::ops
