// Spectral normalisation (Miyato et al. 2018): part of the parameter graph.
#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/trace.h"

namespace lockstep::ops {
namespace {

constexpr float kTiny = 1e-12F;  // against division by zero, as in the paper's code

struct Matrix {
  std::int64_t rows, cols;
};

Matrix matrix_of(const Tensor& w) {
  return {w.numel() / w.size(-1), w.size(-1)};
}

// 1 / x of one value.
Tensor inverse_of(const Tensor& x) {
  Tensor out = filled({1}, 1.0F);
  device().binary(numerics::Binary::kDivide, 1, read(out), read(x), write(out));
  return out;
}

// x / (|x| + tiny), in place; all binary32, the sum a blocked chain.
void normalise(Tensor& x) {
  Tensor norm = empty({1});
  device().row_dots(1, x.numel(), read(x), read(x), write(norm));
  device().unary(numerics::Unary::kSqrt, 1, read(norm), write(norm));
  device().binary(numerics::Binary::kAdd, 1, read(norm), read(filled({1}, kTiny)), write(norm));
  device().scale_rows(1, x.numel(), read(x), read(inverse_of(norm)), write(x));
}

Tensor sigma_of(const Tensor& w, const Tensor& u, const Tensor& v) {
  const Matrix m = matrix_of(w);
  Tensor wv = empty({m.rows});
  device().gemm(1, m.rows, 1, m.cols, {read(w), m.cols, 1, 0}, {read(v), 1, 1, 0}, nullptr,
                {write(wv), 1, 0});
  Tensor sigma = empty({1});
  device().row_dots(1, m.rows, read(u), read(wv), write(sigma));
  return sigma;
}

}  // namespace

void power_iteration(const Tensor& w_in, Tensor& u, Tensor& v) {
  const Tensor w = bare(w_in);
  const Matrix m = matrix_of(w);
  LOCKSTEP_ASSERT(u.numel() == m.rows && v.numel() == m.cols);
  device().gemm(1, m.cols, 1, m.rows, {read(w), 1, m.cols, 0}, {read(u), 1, 1, 0}, nullptr,
                {write(v), 1, 0});
  normalise(v);
  device().gemm(1, m.rows, 1, m.cols, {read(w), m.cols, 1, 0}, {read(v), 1, 1, 0}, nullptr,
                {write(u), 1, 0});
  normalise(u);
  show("power_iteration", {w}, {u, v});
}

Tensor spectral_normalize(const Tensor& w_in, const Tensor& u_in, const Tensor& v_in) {
  const Tensor w = bare(w_in).contiguous(), u = bare(u_in).clone(), v = bare(v_in).clone();
  const Matrix m = matrix_of(w);
  const Tensor inverse = inverse_of(sigma_of(w, u, v));
  Tensor out = empty(w.sizes());
  device().scale_rows(1, w.numel(), read(w), read(inverse), write(out));
  // d(w/sigma)^T g = (g - <g, w/sigma> u v^T) / sigma
  return record("spectral_normalize", {w_in}, out, Differentiable::kOnce,
                [normalised = bare(out), u, v, m, inverse](const Tensor& g,
                                                           const std::vector<bool>&) -> Tensors {
                  Tensor along = empty({1});
                  device().row_dots(1, g.numel(), read(g), read(normalised), write(along));
                  device().unary(numerics::Unary::kNegate, 1, read(along), write(along));
                  Tensor scaled_u = empty({m.rows}), dw = empty(g.sizes());
                  device().scale_rows(1, m.rows, read(u), read(along), write(scaled_u));
                  device().add_outer(m.rows, m.cols, read(scaled_u), read(v), read(g), write(dw));
                  device().scale_rows(1, dw.numel(), read(dw), read(inverse), write(dw));
                  return {dw};
                });
}

}  // namespace lockstep::ops
