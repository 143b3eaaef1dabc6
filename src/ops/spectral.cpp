// Spectral normalisation (Miyato et al. 2018): part of the parameter graph.
#include "lockstep/core/error.h"
#include "lockstep/numerics/gemm.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/numerics/reduce.h"
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

// x / (|x| + tiny), in place; all binary32, the sum a blocked chain.
void normalise(Tensor& x) {
  float square = 0;
  numerics::row_dots(1, x.numel(), read(x), read(x), &square);
  float norm = 0;
  numerics::unary(numerics::Unary::kSqrt, 1, &square, &norm);
  numerics::scale(x.numel(), 1.0F / (norm + kTiny), read(x), write(x));
}

float sigma_of(const Tensor& w, const Tensor& u, const Tensor& v) {
  const Matrix m = matrix_of(w);
  Tensor wv = empty({m.rows});
  numerics::gemm(1, m.rows, 1, m.cols, {read(w), m.cols, 1, 0}, {read(v), 1, 1, 0}, nullptr,
                 {write(wv), 1, 0});
  float sigma = 0;
  numerics::row_dots(1, m.rows, read(u), read(wv), &sigma);
  return sigma;
}

}  // namespace

void power_iteration(const Tensor& w_in, Tensor& u, Tensor& v) {
  const Tensor w = bare(w_in);
  const Matrix m = matrix_of(w);
  LOCKSTEP_ASSERT(u.numel() == m.rows && v.numel() == m.cols);
  numerics::gemm(1, m.cols, 1, m.rows, {read(w), 1, m.cols, 0}, {read(u), 1, 1, 0}, nullptr,
                 {write(v), 1, 0});
  normalise(v);
  numerics::gemm(1, m.rows, 1, m.cols, {read(w), m.cols, 1, 0}, {read(v), 1, 1, 0}, nullptr,
                 {write(u), 1, 0});
  normalise(u);
  show("power_iteration", {w}, {u, v});
}

Tensor spectral_normalize(const Tensor& w_in, const Tensor& u_in, const Tensor& v_in) {
  const Tensor w = bare(w_in).contiguous(), u = bare(u_in).clone(), v = bare(v_in).clone();
  const Matrix m = matrix_of(w);
  const float inverse = 1.0F / sigma_of(w, u, v);
  Tensor out = empty(w.sizes());
  numerics::scale(w.numel(), inverse, read(w), write(out));
  // d(w/sigma)^T g = (g - <g, w/sigma> u v^T) / sigma
  return record("spectral_normalize", {w_in}, out, Differentiable::kOnce,
                [normalised = bare(out), u, v, m, inverse](const Tensor& g,
                                                           const std::vector<bool>&) -> Tensors {
                  float along = 0;
                  numerics::row_dots(1, g.numel(), read(g), read(normalised), &along);
                  Tensor scaled_u = empty({m.rows}), dw = empty(g.sizes());
                  numerics::scale(m.rows, -along, read(u), write(scaled_u));
                  for (std::int64_t i = 0; i < m.rows; ++i) {
                    numerics::scale_add(m.cols, read(scaled_u)[i], read(v), read(g) + i * m.cols,
                                        write(dw) + i * m.cols);
                  }
                  numerics::scale(dw.numel(), inverse, read(dw), write(dw));
                  return {dw};
                });
}

}  // namespace lockstep::ops
