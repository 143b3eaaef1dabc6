// Private: exp, log, sin, cos, tanh, erf and what is written from them (scalar.h) on vectors of
// floats, for *_simd.cpp. The same binary64 evaluations as functions.h; lanes that do not round
// safely, and special values, are handed to the scalar functions one by one.
//
//   Vec Exp(d, x)   … Erf; Sigmoid, Silu, Softplus, Gelu, GeluTanh, SiluDerivative, …; Canonical(d,
//   x)

#if defined(LOCKSTEP_FUNCTIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_FUNCTIONS_INL_H
#undef LOCKSTEP_FUNCTIONS_INL_H
#else
#define LOCKSTEP_FUNCTIONS_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "lockstep/numerics/spec/scalar.h"
#include "lockstep/numerics/spec/tables.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
using FloatMask = hn::Mask<FloatTag>;
using HalfTag = hn::Half<FloatTag>;
using DoubleTag = hn::Repartition<double, FloatTag>;
using Doubles = hn::Vec<DoubleTag>;
using WordTag = hn::RebindToUnsigned<DoubleTag>;
using Words = hn::Vec<WordTag>;

// NaNs become 0x7fc00000.
HWY_INLINE Floats Canonical(FloatTag d, Floats x) {
  const auto nan = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<FloatTag>(), 0x7fc00000u));
  return hn::IfThenElse(hn::Eq(x, x), x, nan);
}

// Even and odd powers apart: two short chains of fmas instead of a long one.
template <int kCount>
HWY_INLINE Doubles Polynomial(const double (&c)[kCount], Doubles x) {
  const DoubleTag d;
  const Doubles square = hn::Mul(x, x);
  Doubles last = hn::Set(d, c[kCount - 1]);
  Doubles before = hn::Set(d, c[kCount - 2]);
  for (int i = kCount - 3; i >= 0; i -= 2) {
    last = hn::MulAdd(last, square, hn::Set(d, c[i]));
    if (i > 0) before = hn::MulAdd(before, square, hn::Set(d, c[i - 1]));
  }
  return kCount % 2 == 0 ? hn::MulAdd(last, x, before) : hn::MulAdd(before, x, last);
}

struct ExpParts {
  Doubles small, power;
};

HWY_INLINE ExpParts SplitExp(Doubles x) {
  const DoubleTag d;
  const WordTag w;
  const Doubles to_integer = hn::Set(d, tables::kRoundToInteger);
  const Doubles rounded = hn::MulAdd(x, hn::Set(d, tables::kLog2E), to_integer);
  const Doubles k = hn::Sub(rounded, to_integer);
  const Doubles r = hn::NegMulAdd(k, hn::Set(d, tables::kLn2Hi), x);
  const Words exponent =
      hn::Add(hn::ShiftLeft<52>(hn::BitCast(w, rounded)), hn::BitCast(w, hn::Set(d, 1.0)));
  return {hn::Mul(r, Polynomial(tables::expm1(), r)), hn::BitCast(d, exponent)};
}

struct ExpDouble {
  HWY_INLINE Doubles operator()(Doubles x) const {
    const ExpParts e = SplitExp(x);
    return hn::MulAdd(e.small, e.power, e.power);
  }
};

struct LogDouble {
  HWY_INLINE Doubles operator()(Doubles x) const {
    const DoubleTag d;
    const WordTag w;
    const Doubles one = hn::Set(d, 1.0);
    const Words one_bits = hn::BitCast(w, one);
    const Words bits = hn::BitCast(w, x);
    const Words biased =
        hn::ShiftRight<52>(hn::Add(bits, hn::Set(w, 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)));
    const Doubles m = hn::BitCast(d, hn::Add(hn::Sub(bits, hn::ShiftLeft<52>(biased)), one_bits));
    // An integer below 2^52 in the low bits of 2^52 is 2^52 + integer.
    const Doubles two52 = hn::Set(d, 0x1p52);
    const Doubles k =
        hn::Sub(hn::BitCast(d, hn::Or(biased, hn::BitCast(w, two52))), hn::Set(d, 0x1p52 + 1023));
    const Doubles s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
    const Doubles z = hn::Mul(s, s);
    const Doubles log_m = hn::MulAdd(hn::Mul(s, z), Polynomial(tables::log(), z), hn::Add(s, s));
    return hn::MulAdd(k, hn::Set(d, tables::kLn2Hi), log_m);
  }
};

// kQuarter 0: sin, 1: cos
template <int kQuarter>
struct SineDouble {
  HWY_INLINE Doubles operator()(Doubles x) const {
    const DoubleTag d;
    const WordTag w;
    const Doubles to_integer = hn::Set(d, tables::kRoundToInteger);
    const Doubles rounded = hn::MulAdd(x, hn::Set(d, tables::kTwoOverPi), to_integer);
    const Doubles k = hn::Sub(rounded, to_integer);
    Doubles r = hn::NegMulAdd(k, hn::Set(d, tables::kHalfPiHi), x);
    r = hn::NegMulAdd(k, hn::Set(d, tables::kHalfPiLo), r);
    const Words quadrant = hn::Add(hn::BitCast(w, rounded), hn::Set(w, std::uint64_t{kQuarter}));
    const Doubles one = hn::Set(d, 1.0);
    const Doubles z = hn::Mul(r, r);
    const Doubles sine = hn::Mul(r, hn::MulAdd(z, Polynomial(tables::sin(), z), one));
    const Doubles cosine = hn::MulAdd(z, Polynomial(tables::cos(), z), one);
    const auto odd = hn::MaskFromVec(
        hn::BitCast(d, hn::Sub(hn::Zero(w), hn::And(quadrant, hn::Set(w, std::uint64_t{1})))));
    const Words sign = hn::ShiftLeft<62>(hn::And(quadrant, hn::Set(w, std::uint64_t{2})));
    return hn::Xor(hn::IfThenElse(odd, cosine, sine), hn::BitCast(d, sign));
  }
};

struct TanhDouble {
  HWY_INLINE Doubles operator()(Doubles x) const {
    const DoubleTag d;
    const ExpParts parts = SplitExp(hn::Add(x, x));
    const Doubles e = hn::MulAdd(parts.small, parts.power, hn::Sub(parts.power, hn::Set(d, 1.0)));
    return hn::Div(e, hn::Add(e, hn::Set(d, 2.0)));
  }
};

struct ErfDouble {
  HWY_INLINE Doubles operator()(Doubles x) const {
    const DoubleTag d;
    const Doubles one = hn::Set(d, 1.0);
    const Doubles square = hn::Mul(x, x);
    const Doubles near = hn::Mul(x, Polynomial(tables::erf(), square));
    const Doubles erfcx = Polynomial(tables::erfcx(), hn::Sub(x, hn::Set(d, 2.5)));
    const Doubles far = hn::NegMulAdd(ExpDouble()(hn::Neg(square)), erfcx, one);
    return hn::IfThenElse(hn::Lt(x, one), near, far);
  }
};

// Both halves of x through `function`, rounded to float; lanes of `usable` where that is not
// certain and all other lanes are computed by `exact` from `original`.
template <class Function>
HWY_INLINE Floats Evaluate(Function function, Floats x, Floats original, FloatMask usable,
                           float (*exact)(float)) {
  const FloatTag d;
  const HalfTag half;
  const DoubleTag dd;
  const Doubles error = hn::Set(dd, tables::kError);
  const Doubles y0 = function(hn::PromoteTo(dd, hn::LowerHalf(half, x)));
  const Doubles y1 = function(hn::PromoteTo(dd, hn::UpperHalf(half, x)));
  const Floats low = hn::Combine(d, hn::DemoteTo(half, hn::NegMulAdd(y1, error, y1)),
                                 hn::DemoteTo(half, hn::NegMulAdd(y0, error, y0)));
  const Floats high = hn::Combine(d, hn::DemoteTo(half, hn::MulAdd(y1, error, y1)),
                                  hn::DemoteTo(half, hn::MulAdd(y0, error, y0)));
  const FloatMask good = hn::And(hn::Eq(low, high), usable);
  if (HWY_LIKELY(hn::AllTrue(d, good))) return high;
  HWY_ALIGN float results[hn::MaxLanes(d)];
  HWY_ALIGN float arguments[hn::MaxLanes(d)];
  HWY_ALIGN float doubtful[hn::MaxLanes(d)];
  hn::Store(high, d, results);
  hn::Store(original, d, arguments);
  hn::Store(hn::IfThenElse(good, hn::Zero(d), hn::Set(d, 1.0f)), d, doubtful);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (doubtful[i] != 0) results[i] = exact(arguments[i]);
  }
  return hn::Load(d, results);
}

HWY_INLINE Floats Exp(FloatTag d, Floats x) {
  const Floats clamped = hn::Min(hn::Max(x, hn::Set(d, -110.0f)), hn::Set(d, 95.0f));
  return Evaluate(ExpDouble(), clamped, x, hn::Eq(x, x), scalar::exp);
}

HWY_INLINE Floats Log(FloatTag d, Floats x) {
  const FloatMask usable = hn::And(hn::Gt(x, hn::Zero(d)), hn::Le(x, hn::Set(d, 0x1.fffffep127f)));
  return Evaluate(LogDouble(), x, x, usable, scalar::log);
}

HWY_INLINE Floats Sin(FloatTag d, Floats x) {
  const FloatMask usable = hn::Le(hn::Abs(x), hn::Set(d, tables::kCodyWaiteLimit));
  return Evaluate(SineDouble<0>(), x, x, usable, scalar::sin);
}

HWY_INLINE Floats Cos(FloatTag d, Floats x) {
  const FloatMask usable = hn::Le(hn::Abs(x), hn::Set(d, tables::kCodyWaiteLimit));
  return Evaluate(SineDouble<1>(), x, x, usable, scalar::cos);
}

HWY_INLINE Floats Tanh(FloatTag d, Floats x) {
  const Floats magnitude = hn::Min(hn::Abs(x), hn::Set(d, 10.0f));
  const Floats y = Evaluate(TanhDouble(), magnitude, hn::Abs(x), hn::Eq(x, x), scalar::tanh);
  return hn::IfThenElse(hn::Eq(x, x), hn::CopySign(y, x), y);
}

HWY_INLINE Floats Erf(FloatTag d, Floats x) {
  const Floats magnitude = hn::Min(hn::Abs(x), hn::Set(d, 4.0f));
  const Floats y = Evaluate(ErfDouble(), magnitude, hn::Abs(x), hn::Eq(x, x), scalar::erf);
  return hn::IfThenElse(hn::Eq(x, x), hn::CopySign(y, x), y);
}

// The compositions of scalar.h, operation by operation. NaNs are not canonical yet.
HWY_INLINE Floats Rsqrt(FloatTag d, Floats x) {
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x));
}

// Not by Ne: Highway's is false for NaN on x86.
HWY_INLINE Floats Relu(FloatTag d, Floats x) {
  return hn::IfThenElse(hn::Le(x, hn::Zero(d)), hn::Zero(d), x);
}

HWY_INLINE Floats Sigmoid(FloatTag d, Floats x) {
  const Floats one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

HWY_INLINE Floats Silu(FloatTag d, Floats x) {
  return hn::Mul(x, Sigmoid(d, x));
}

HWY_INLINE Floats Softplus(FloatTag d, Floats x) {
  const Floats one = hn::Set(d, 1.0f);
  const FloatMask positive = hn::Gt(x, hn::Zero(d));
  const Floats e = Exp(d, hn::IfThenElse(positive, hn::Neg(x), x));
  const Floats u = hn::Add(one, e);
  const Floats log1p =
      hn::IfThenElse(hn::Eq(u, one), e, hn::Mul(Log(d, u), hn::Div(e, hn::Sub(u, one))));
  return hn::Add(hn::IfThenElse(positive, x, hn::Zero(d)), log1p);
}

HWY_INLINE Floats Gelu(FloatTag d, Floats x) {
  const Floats phi2 = hn::Add(hn::Set(d, 1.0f), Erf(d, hn::Mul(x, hn::Set(d, scalar::kSqrtHalf))));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), phi2);
}

HWY_INLINE Floats GeluTanhArgument(FloatTag d, Floats x) {
  const Floats cubic = hn::Mul(hn::Set(d, scalar::kGeluCubic), hn::Mul(x, hn::Mul(x, x)));
  return hn::Mul(hn::Set(d, scalar::kSqrtTwoOverPi), hn::Add(x, cubic));
}

HWY_INLINE Floats GeluTanh(FloatTag d, Floats x) {
  const Floats phi2 = hn::Add(hn::Set(d, 1.0f), Tanh(d, GeluTanhArgument(d, x)));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), phi2);
}

HWY_INLINE Floats TanhDerivative(FloatTag d, Floats x) {
  const Floats t = Tanh(d, x);
  return hn::Sub(hn::Set(d, 1.0f), hn::Mul(t, t));
}

HWY_INLINE Floats ErfDerivative(FloatTag d, Floats x) {
  return hn::Mul(hn::Set(d, scalar::kTwoOverSqrtPi), Exp(d, hn::Neg(hn::Mul(x, x))));
}

HWY_INLINE Floats SqrtDerivative(FloatTag d, Floats x) {
  return hn::Div(hn::Set(d, 0.5f), hn::Sqrt(x));
}

HWY_INLINE Floats RsqrtDerivative(FloatTag d, Floats x) {
  return hn::Div(hn::Div(hn::Set(d, -0.5f), x), hn::Sqrt(x));
}

HWY_INLINE Floats SigmoidDerivative(FloatTag d, Floats x) {
  const Floats s = Sigmoid(d, x);
  return hn::Mul(s, hn::Sub(hn::Set(d, 1.0f), s));
}

HWY_INLINE Floats SiluDerivative(FloatTag d, Floats x) {
  const Floats one = hn::Set(d, 1.0f);
  const Floats s = Sigmoid(d, x);
  return hn::Mul(s, hn::Add(one, hn::Mul(x, hn::Sub(one, s))));
}

HWY_INLINE Floats GeluDerivative(FloatTag d, Floats x) {
  const Floats half = hn::Set(d, 0.5f);
  const Floats density =
      hn::Mul(hn::Set(d, scalar::kInvSqrtTwoPi), Exp(d, hn::Mul(hn::Neg(half), hn::Mul(x, x))));
  const Floats phi2 = hn::Add(hn::Set(d, 1.0f), Erf(d, hn::Mul(x, hn::Set(d, scalar::kSqrtHalf))));
  return hn::Add(hn::Mul(half, phi2), hn::Mul(x, density));
}

HWY_INLINE Floats GeluTanhDerivative(FloatTag d, Floats x) {
  const Floats half = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
  const Floats t = Tanh(d, GeluTanhArgument(d, x));
  const Floats slope =
      hn::Mul(hn::Set(d, scalar::kSqrtTwoOverPi),
              hn::Add(one, hn::Mul(hn::Set(d, scalar::kGeluCubicTimes3), hn::Mul(x, x))));
  const Floats change = hn::Mul(hn::Sub(one, hn::Mul(t, t)), slope);
  return hn::Add(hn::Mul(half, hn::Add(one, t)), hn::Mul(hn::Mul(half, x), change));
}

}  // namespace
}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
