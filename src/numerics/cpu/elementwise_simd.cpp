#include "numerics/cpu/elementwise_kernels.h"
#include "numerics/cpu/isa_tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/elementwise_simd.cpp"
#include "numerics/cpu/simd.h"
// after simd.h
#include "numerics/cpu/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {

// out[i] = operation(a[i], b[i]); the last elements go through a padded vector.
template <class Operation>
HWY_INLINE void Map2(std::int64_t n, Operation operation, const float* a, const float* b,
                     float* out) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Canonical(d, operation(hn::LoadU(d, a + i), hn::LoadU(d, b + i))), d, out + i);
  }
  if (i == n) return;
  HWY_ALIGN float last_a[hn::MaxLanes(d)] = {};
  HWY_ALIGN float last_b[hn::MaxLanes(d)] = {};
  for (std::int64_t j = 0; j < n - i; ++j) {
    last_a[j] = a[i + j];
    last_b[j] = b[i + j];
  }
  hn::Store(Canonical(d, operation(hn::Load(d, last_a), hn::Load(d, last_b))), d, last_a);
  for (std::int64_t j = 0; j < n - i; ++j) out[i + j] = last_a[j];
}

template <class Operation>
HWY_INLINE void Map(std::int64_t n, Operation operation, const float* x, float* out) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Canonical(d, operation(hn::LoadU(d, x + i))), d, out + i);
  }
  if (i == n) return;
  HWY_ALIGN float last[hn::MaxLanes(d)] = {};
  for (std::int64_t j = 0; j < n - i; ++j) last[j] = x[i + j];
  hn::Store(Canonical(d, operation(hn::Load(d, last))), d, last);
  for (std::int64_t j = 0; j < n - i; ++j) out[i + j] = last[j];
}

// clang-format off
HWY_INLINE Floats Sqrt(FloatTag, Floats x) { return hn::Sqrt(x); }
HWY_INLINE Floats Negate(FloatTag, Floats x) { return hn::Neg(x); }
HWY_INLINE Floats Square(FloatTag, Floats x) { return hn::Mul(x, x); }
HWY_INLINE Floats Abs(FloatTag, Floats x) { return hn::Abs(x); }
HWY_INLINE Floats LogDerivative(FloatTag d, Floats x) { return hn::Div(hn::Set(d, 1.0f), x); }
HWY_INLINE Floats CosDerivative(FloatTag d, Floats x) { return hn::Neg(Sin(d, x)); }
HWY_INLINE Floats NegateDerivative(FloatTag d, Floats) { return hn::Set(d, -1.0f); }
HWY_INLINE Floats SquareDerivative(FloatTag, Floats x) { return hn::Add(x, x); }
HWY_INLINE Floats Add(FloatTag, Floats a, Floats b) { return hn::Add(a, b); }
HWY_INLINE Floats Subtract(FloatTag, Floats a, Floats b) { return hn::Sub(a, b); }
HWY_INLINE Floats Multiply(FloatTag, Floats a, Floats b) { return hn::Mul(a, b); }
HWY_INLINE Floats Divide(FloatTag, Floats a, Floats b) { return hn::Div(a, b); }
// clang-format on

HWY_INLINE Floats ReluDerivative(FloatTag d, Floats x) {
  return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f));
}

HWY_INLINE Floats AbsDerivative(FloatTag d, Floats x) {
  const Floats zero = hn::Zero(d);
  return hn::IfThenElse(hn::Gt(x, zero), hn::Set(d, 1.0f),
                        hn::IfThenElseZero(hn::Lt(x, zero), hn::Set(d, -1.0f)));
}

template <Floats (*kFunction)(FloatTag, Floats)>
void Unary1(std::int64_t n, const float* x, float* out) {
  struct Operation {
    HWY_INLINE Floats operator()(Floats v) const { return kFunction(FloatTag(), v); }
  };
  Map(n, Operation(), x, out);
}

template <Floats (*kDerivative)(FloatTag, Floats)>
void Backward(std::int64_t n, const float* x, const float* dy, float* out) {
  struct Operation {
    HWY_INLINE Floats operator()(Floats v, Floats g) const {
      return hn::Mul(g, kDerivative(FloatTag(), v));
    }
  };
  Map2(n, Operation(), x, dy, out);
}

template <Floats (*kFunction)(FloatTag, Floats, Floats)>
void Binary2(std::int64_t n, const float* a, const float* b, float* out) {
  struct Operation {
    HWY_INLINE Floats operator()(Floats v, Floats w) const { return kFunction(FloatTag(), v, w); }
  };
  Map2(n, Operation(), a, b, out);
}

void LeakyRelu(std::int64_t n, float slope, const float* x, float* out) {
  struct Operation {
    Floats slope;
    HWY_INLINE Floats operator()(Floats v) const {
      return hn::IfThenElse(hn::Gt(v, hn::Zero(FloatTag())), v, hn::Mul(slope, v));
    }
  };
  Map(n, Operation{hn::Set(FloatTag(), slope)}, x, out);
}

void LeakyReluBackward(std::int64_t n, float slope, const float* x, const float* dy, float* out) {
  struct Operation {
    Floats slope;
    HWY_INLINE Floats operator()(Floats v, Floats g) const {
      const FloatTag d;
      return hn::Mul(g, hn::IfThenElse(hn::Gt(v, hn::Zero(d)), hn::Set(d, 1.0f), slope));
    }
  };
  Map2(n, Operation{hn::Set(FloatTag(), slope)}, x, dy, out);
}

void Scale(std::int64_t n, float factor, const float* x, float* out) {
  struct Operation {
    Floats factor;
    HWY_INLINE Floats operator()(Floats v) const { return hn::Mul(factor, v); }
  };
  Map(n, Operation{hn::Set(FloatTag(), factor)}, x, out);
}

void ScaleAdd(std::int64_t n, float factor, const float* x, const float* y, float* out) {
  struct Operation {
    Floats factor;
    HWY_INLINE Floats operator()(Floats v, Floats w) const { return hn::MulAdd(factor, v, w); }
  };
  Map2(n, Operation{hn::Set(FloatTag(), factor)}, x, y, out);
}

void Combine(std::int64_t n, float a, const float* x, float b, const float* y, float* out) {
  struct Operation {
    Floats a, b;
    HWY_INLINE Floats operator()(Floats v, Floats w) const {
      return hn::MulAdd(a, v, hn::Mul(b, w));
    }
  };
  Map2(n, Operation{hn::Set(FloatTag(), a), hn::Set(FloatTag(), b)}, x, y, out);
}

void Clamp(std::int64_t n, float low, float high, const float* x, float* out) {
  struct Operation {
    Floats low, high;
    HWY_INLINE Floats operator()(Floats v) const {
      return hn::IfThenElse(hn::Lt(v, low), low, hn::IfThenElse(hn::Gt(v, high), high, v));
    }
  };
  Map(n, Operation{hn::Set(FloatTag(), low), hn::Set(FloatTag(), high)}, x, out);
}

bool AllFinite(std::int64_t n, const float* x) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Floats largest = hn::Set(d, 0x1.fffffep127f);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (!hn::AllTrue(d, hn::Le(hn::Abs(hn::LoadU(d, x + i)), largest))) return false;
  }
  return kElementwiseScalar.all_finite(n - i, x + i);
}

void AddRow(std::int64_t rows, std::int64_t c, const float* row, float* x) {
  for (std::int64_t i = 0; i < rows; ++i, x += c) Binary2<Add>(c, x, row, x);
}

}  // namespace

// In the order of Unary and Binary.
extern const ElementwiseKernels kElementwise;
constexpr ElementwiseKernels kElementwise = {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) Unary1<Function>,
    .unary = {LOCKSTEP_UNARY(LOCKSTEP_ROW)},
#undef LOCKSTEP_ROW
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) Backward<Derivative>,
    .unary_backward = {LOCKSTEP_UNARY(LOCKSTEP_ROW)},
#undef LOCKSTEP_ROW
    .leaky_relu = LeakyRelu,
    .leaky_relu_backward = LeakyReluBackward,
    .binary = {Binary2<Add>, Binary2<Subtract>, Binary2<Multiply>, Binary2<Divide>},
    .scale = Scale,
    .scale_add = ScaleAdd,
    .combine = Combine,
    .add_row = AddRow,
    .all_finite = AllFinite,
    .clamp = Clamp,
};

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

LOCKSTEP_KERNELS(ElementwiseKernels, elementwise_kernels, kElementwise, kElementwiseScalar)
