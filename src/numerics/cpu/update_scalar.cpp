#include "lockstep/numerics/spec/update.h"
#include "numerics/cpu/update_kernels.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

void adamw_range(const AdamW& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
                 float* m, float* v) {
  for (std::int64_t i = begin; i < end; ++i) spec::adamw(s, g[i], p[i], m[i], v[i]);
}

void sgd_range(const Sgd& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
               float* u) {
  for (std::int64_t i = begin; i < end; ++i) spec::sgd(s, g[i], p[i], u[i]);
}

void lion_range(const Lion& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
                float* m) {
  for (std::int64_t i = begin; i < end; ++i) spec::lion(s, g[i], p[i], m[i]);
}

void ema_range(float one_minus_decay, std::int64_t begin, std::int64_t end, const float* p,
               float* e) {
  for (std::int64_t i = begin; i < end; ++i) spec::average(one_minus_decay, p[i], e[i]);
}

}  // namespace

constexpr UpdateKernels kUpdateScalar = {adamw_range, sgd_range, lion_range, ema_range};

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
