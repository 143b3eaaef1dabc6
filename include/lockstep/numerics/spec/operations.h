// The operations that all functions of this folder are made of, each rounded once as IEEE 754 says.
// `+ - * /` are written as they are. Compile with
//   host:  -ffp-contract=off -fno-math-errno (square roots as instructions)
//   nvcc:  --fmad=false, and its defaults --ftz=false --prec-div=true --prec-sqrt=true
#pragma once

#include "lockstep/numerics/spec/fma_region.h"
#include "lockstep/numerics/spec/host_device.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::spec {

// The bits of `from` as a To of the same size.
template <class To, class From>
LOCKSTEP_HD static inline constexpr To bit_cast(From from) {
  return __builtin_bit_cast(To, from);
}

#if defined(__CUDA_ARCH__)
LOCKSTEP_HD static inline float fma(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
LOCKSTEP_HD static inline double fma(double a, double b, double c) {
  return __fma_rn(a, b, c);
}
LOCKSTEP_HD static inline float sqrt(float x) {
  return __fsqrt_rn(x);
}
LOCKSTEP_HD static inline double sqrt(double x) {
  return __dsqrt_rn(x);
}
LOCKSTEP_HD static inline float abs(float x) {
  return ::fabsf(x);
}
LOCKSTEP_HD static inline float copy_sign(float x, float sign) {
  return ::copysignf(x, sign);
}
#else
LOCKSTEP_HD static inline float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
LOCKSTEP_HD static inline double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
LOCKSTEP_HD static inline float sqrt(float x) {
  return __builtin_sqrtf(x);
}
LOCKSTEP_HD static inline double sqrt(double x) {
  return __builtin_sqrt(x);
}
LOCKSTEP_HD static inline float abs(float x) {
  return __builtin_fabsf(x);
}
LOCKSTEP_HD static inline float copy_sign(float x, float sign) {
  return __builtin_copysignf(x, sign);
}
#endif

// Horner's rule: c[0] + x (c[1] + x (c[2] + …)), one fma a coefficient.
template <int kCount>
LOCKSTEP_HD static inline double polynomial(const double (&c)[kCount], double x) {
  double sum = c[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) sum = fma(sum, x, c[i]);
  return sum;
}

}  // namespace lockstep::numerics::spec
LOCKSTEP_FMA_END
