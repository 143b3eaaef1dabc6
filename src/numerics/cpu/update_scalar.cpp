#include "lockstep/numerics/spec/fma_region.h"
#include "numerics/cpu/update_kernels.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

void adamw_range(const AdamW& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
                 float* m, float* v) {
  for (std::int64_t i = begin; i < end; ++i) {
    m[i] = __builtin_fmaf(s.beta1, m[i], s.one_minus_beta1 * g[i]);
    v[i] = __builtin_fmaf(s.beta2, v[i], s.one_minus_beta2 * (g[i] * g[i]));
    const float d = __builtin_sqrtf(v[i]) * s.inv_sqrt_bias2 + s.eps;
    p[i] = p[i] * s.decay;
    p[i] = p[i] - s.step_size * (m[i] / d);
  }
}

void sgd_range(const Sgd& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
               float* u) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float decayed = __builtin_fmaf(s.weight_decay, p[i], g[i]);
    u[i] = __builtin_fmaf(s.momentum, u[i], decayed);
    const float step = s.nesterov ? __builtin_fmaf(s.momentum, u[i], decayed) : u[i];
    p[i] = __builtin_fmaf(-s.lr, step, p[i]);
  }
}

float sign(float x) {
  if (x > 0.0F) return 1.0F;
  return x < 0.0F ? -1.0F : x + 0.0F;
}

void lion_range(const Lion& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
                float* m) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float u = __builtin_fmaf(s.beta1, m[i], s.one_minus_beta1 * g[i]);
    p[i] = __builtin_fmaf(-s.decay, p[i], p[i]);
    p[i] = __builtin_fmaf(-s.lr, sign(u), p[i]);
    m[i] = __builtin_fmaf(s.beta2, m[i], s.one_minus_beta2 * g[i]);
  }
}

void ema_range(float one_minus_decay, std::int64_t begin, std::int64_t end, const float* p,
               float* e) {
  for (std::int64_t i = begin; i < end; ++i) {
    e[i] = __builtin_fmaf(one_minus_decay, p[i] - e[i], e[i]);
  }
}

}  // namespace

constexpr UpdateKernels kUpdateScalar = {adamw_range, sgd_range, lion_range, ema_range};

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
