// Double-double arithmetic: about 100 bits.
#pragma once

#include "lockstep/numerics/spec/operations.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::spec {

// hi + lo, |lo| <= ulp(hi)/2. Algorithms: Dekker 1971; Joldes, Muller, Popescu 2017.
struct Pair {
  double hi, lo;
};

LOCKSTEP_HD static inline Pair fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

LOCKSTEP_HD static inline Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

LOCKSTEP_HD static inline Pair operator+(Pair a, Pair b) {
  const Pair s = two_sum(a.hi, b.hi);
  const Pair t = two_sum(a.lo, b.lo);
  const Pair v = fast_two_sum(s.hi, s.lo + t.hi);
  return fast_two_sum(v.hi, t.lo + v.lo);
}

LOCKSTEP_HD static inline Pair operator-(Pair a) {
  return {-a.hi, -a.lo};
}

LOCKSTEP_HD static inline Pair operator*(Pair a, Pair b) {
  const double product = a.hi * b.hi;
  const double error = fma(a.hi, b.hi, -product);
  return fast_two_sum(product, error + fma(a.hi, b.lo, a.lo * b.hi));
}

LOCKSTEP_HD static inline Pair operator/(Pair a, Pair b) {
  const double quotient = a.hi / b.hi;
  const Pair rest = a + -(Pair{quotient, 0} * b);
  const double correction = rest.hi / b.hi;
  const Pair rest2 = rest + -(Pair{correction, 0} * b);
  return fast_two_sum(quotient, correction) + Pair{rest2.hi / b.hi, 0};
}

}  // namespace lockstep::numerics::spec
LOCKSTEP_FMA_END
