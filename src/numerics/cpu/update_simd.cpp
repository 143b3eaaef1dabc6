#include "numerics/cpu/isa_tables.h"
#include "numerics/cpu/update_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/update_simd.cpp"
#include "numerics/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

// The remainder goes through the scalar table: the same bits.
inline std::int64_t whole_vectors(std::int64_t begin, std::int64_t end) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  return begin + (end - begin) / lanes * lanes;
}

void adamw_range(const AdamW& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
                 float* m, float* v) {
  const D d;
  const auto beta1 = hn::Set(d, s.beta1), one_minus_beta1 = hn::Set(d, s.one_minus_beta1);
  const auto beta2 = hn::Set(d, s.beta2), one_minus_beta2 = hn::Set(d, s.one_minus_beta2);
  const auto eps = hn::Set(d, s.eps), inv_sqrt_bias2 = hn::Set(d, s.inv_sqrt_bias2);
  const auto step_size = hn::Set(d, s.step_size), decay = hn::Set(d, s.decay);
  const std::int64_t vectors_end = whole_vectors(begin, end);
  for (std::int64_t i = begin; i < vectors_end; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto grad = hn::LoadU(d, g + i);
    const auto m1 = hn::MulAdd(beta1, hn::LoadU(d, m + i), hn::Mul(one_minus_beta1, grad));
    const auto v1 =
        hn::MulAdd(beta2, hn::LoadU(d, v + i), hn::Mul(one_minus_beta2, hn::Mul(grad, grad)));
    const auto denominator = hn::Add(hn::Mul(hn::Sqrt(v1), inv_sqrt_bias2), eps);
    const auto decayed = hn::Mul(hn::LoadU(d, p + i), decay);
    hn::StoreU(m1, d, m + i);
    hn::StoreU(v1, d, v + i);
    hn::StoreU(hn::Sub(decayed, hn::Mul(step_size, hn::Div(m1, denominator))), d, p + i);
  }
  kUpdateScalar.adamw(s, vectors_end, end, g, p, m, v);
}

void sgd_range(const Sgd& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
               float* u) {
  const D d;
  const auto weight_decay = hn::Set(d, s.weight_decay), momentum = hn::Set(d, s.momentum);
  const auto minus_lr = hn::Set(d, -s.lr);
  const std::int64_t vectors_end = whole_vectors(begin, end);
  for (std::int64_t i = begin; i < vectors_end; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto param = hn::LoadU(d, p + i);
    const auto decayed = hn::MulAdd(weight_decay, param, hn::LoadU(d, g + i));
    const auto u1 = hn::MulAdd(momentum, hn::LoadU(d, u + i), decayed);
    hn::StoreU(u1, d, u + i);
    auto step = u1;
    if (s.nesterov) step = hn::MulAdd(momentum, u1, decayed);
    hn::StoreU(hn::MulAdd(minus_lr, step, param), d, p + i);
  }
  kUpdateScalar.sgd(s, vectors_end, end, g, p, u);
}

void lion_range(const Lion& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
                float* m) {
  const D d;
  const auto beta1 = hn::Set(d, s.beta1), one_minus_beta1 = hn::Set(d, s.one_minus_beta1);
  const auto beta2 = hn::Set(d, s.beta2), one_minus_beta2 = hn::Set(d, s.one_minus_beta2);
  const auto minus_lr = hn::Set(d, -s.lr), minus_decay = hn::Set(d, -s.decay);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0F), minus_one = hn::Set(d, -1.0F);
  const std::int64_t vectors_end = whole_vectors(begin, end);
  for (std::int64_t i = begin; i < vectors_end; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto grad = hn::LoadU(d, g + i), param = hn::LoadU(d, p + i), slot = hn::LoadU(d, m + i);
    const auto u = hn::MulAdd(beta1, slot, hn::Mul(one_minus_beta1, grad));
    const auto sign = hn::IfThenElse(hn::Gt(u, zero), one,
                                     hn::IfThenElse(hn::Lt(u, zero), minus_one, hn::Add(u, zero)));
    hn::StoreU(hn::MulAdd(minus_lr, sign, hn::MulAdd(minus_decay, param, param)), d, p + i);
    hn::StoreU(hn::MulAdd(beta2, slot, hn::Mul(one_minus_beta2, grad)), d, m + i);
  }
  kUpdateScalar.lion(s, vectors_end, end, g, p, m);
}

void ema_range(float one_minus_decay, std::int64_t begin, std::int64_t end, const float* p,
               float* e) {
  const D d;
  const auto rate = hn::Set(d, one_minus_decay);
  const std::int64_t vectors_end = whole_vectors(begin, end);
  for (std::int64_t i = begin; i < vectors_end; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto average = hn::LoadU(d, e + i);
    hn::StoreU(hn::MulAdd(rate, hn::Sub(hn::LoadU(d, p + i), average), average), d, e + i);
  }
  kUpdateScalar.ema(one_minus_decay, vectors_end, end, p, e);
}

}  // namespace

// Constant, not made at start-up: start-up code of this namespace would run on every CPU.
extern const UpdateKernels kUpdate;
constexpr UpdateKernels kUpdate = {adamw_range, sgd_range, lion_range, ema_range};

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

LOCKSTEP_KERNELS(UpdateKernels, update_kernels, kUpdate, kUpdateScalar)
