// Constants of exp, log, sin, cos, tanh and erf in binary64, for every device.
// Polynomials, lowest coefficient first, were fitted in Chebyshev points with 400 bits
// (mpmath.chebyfit) and rounded; the power of two is the relative error of what the comment says.
//
// They are no part of the specification: results are correctly rounded whatever the polynomials.
// Arrays stand inside functions, because device code cannot index constants of a namespace.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/host_device.h"

namespace lockstep::numerics::tables {

// Bound on the relative error of each binary64 evaluation, a few times what is reached. A result
// that rounds to one float at both ends of the interval is right; others are computed more exactly.
inline constexpr double kError = 0x1p-46;

// exp(r) = 1 + r P(r), |r| <= ln 2 / 2; 2^-50.6
LOCKSTEP_HD static inline const double (&expm1())[10] {
  static constexpr double c[] = {
      0x1.0000000000006p+0,  0x1.0000000000001p-1,  0x1.5555555550d79p-3,  0x1.5555555553d63p-5,
      0x1.11111123c1f47p-7,  0x1.6c16c1788bd90p-10, 0x1.a01994bd214e7p-13, 0x1.a019b90d2ae7ap-16,
      0x1.72e1150d0c9b6p-19, 0x1.289185613a3d6p-22};
  return c;
}
// log(m) = 2 s + s z P(z), s = (m-1)/(m+1), z = s^2, m in [sqrt(1/2), sqrt 2]; 2^-57
LOCKSTEP_HD static inline const double (&log())[7] {
  static constexpr double c[] = {0x1.5555555555558p-1, 0x1.9999999995273p-2, 0x1.2492492dfd86cp-2,
                                 0x1.c71c62d5e53e0p-3, 0x1.7462b91b8df65p-3, 0x1.39fdcceb4bb45p-3,
                                 0x1.2b5f68a50d903p-3};
  return c;
}
// sin(r) = r (1 + z P(z)), z = r^2, |r| <= pi/4; 2^-55
LOCKSTEP_HD static inline const double (&sin())[6] {
  static constexpr double c[] = {-0x1.5555555555555p-3,  0x1.1111111110babp-7,
                                 -0x1.a01a019e820aep-13, 0x1.71de37946ed6dp-19,
                                 -0x1.ae6008d114485p-26, 0x1.5e0a4fc16be59p-33};
  return c;
}
// cos(r) = 1 + z P(z), the same range; 2^-60
LOCKSTEP_HD static inline const double (&cos())[7] {
  static constexpr double c[] = {-0x1.p-1,
                                 0x1.5555555555551p-5,
                                 -0x1.6c16c16c15d66p-10,
                                 0x1.a01a019ddeeb9p-16,
                                 -0x1.27e4f8e2a96f3p-22,
                                 0x1.1eea7d95372b2p-29,
                                 -0x1.8ff8e8524f59bp-37};
  return c;
}
// erf(x) = x P(x^2), |x| < 1; 2^-50.8
LOCKSTEP_HD static inline const double (&erf())[11] {
  static constexpr double c[] = {
      0x1.20dd750429b6bp+0,  -0x1.812746b037352p-2,  0x1.ce2f21a000d30p-4,  -0x1.b82ce3026aae0p-6,
      0x1.565bcb082cca2p-8,  -0x1.c02d67e37081ep-11, 0x1.f99c295886f05p-14, -0x1.f4684782919e8p-17,
      0x1.b5d3ea9fd0b5ap-20, -0x1.462a758d4591dp-23, 0x1.43f6d0dee7032p-27};
  return c;
}
// erfc(x) exp(x^2) = P(x - 2.5), 1 <= x <= 4; 2^-48.5 times exp(-x^2), absolute
LOCKSTEP_HD static inline const double (&erfcx())[20] {
  static constexpr double c[] = {
      0x1.afbb3f3b73391p-3,  -0x1.3086d7f01ac3fp-4,  0x1.98958a7aabd72p-6,  -0x1.0632076816160p-7,
      0x1.435c04d484d65p-9,  -0x1.809ce8a02830bp-11, 0x1.ba8a6c980785ap-13, -0x1.edd4278d24e11p-15,
      0x1.0bcb3563c2553p-16, -0x1.1ad0b2f0cda92p-18, 0x1.235b30bc83cf0p-20, -0x1.251df40e01cb3p-22,
      0x1.1faa63edc36c4p-24, -0x1.153659e3c140dp-26, 0x1.0d1854aa723a7p-28, -0x1.f121e6b2c9f44p-31,
      0x1.6ae04b5e6c000p-33, -0x1.4954597374e03p-35, 0x1.2627408a336eap-36, -0x1.f472c0fa9bb00p-39};
  return c;
}

// x = (Hi + Lo)(1 + 2^-106)
inline constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
inline constexpr double kHalfPiHi = 0x1.921fb54442d18p+0, kHalfPiLo = 0x1.1a62633145c07p-54;
inline constexpr double kTwoOverSqrtPiHi = 0x1.20dd750429b6dp+0,
                        kTwoOverSqrtPiLo = 0x1.1ae3a914fed80p-56;
inline constexpr double kLog2E = 0x1.71547652b82fep+0, kTwoOverPi = 0x1.45f306dc9c883p-1;

// 64 zero bits, then 2/pi after the binary point.
LOCKSTEP_HD static inline const std::uint32_t (&two_over_pi_words())[14] {
  static constexpr std::uint32_t words[] = {
      0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
      0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c};
  return words;
}

// Adding it rounds |x| < 2^51 to an integer, which then stands in the low bits.
inline constexpr double kRoundToInteger = 0x1.8p52;
// sin and cos: beyond, the argument is reduced with as many bits of 2/pi as it takes.
inline constexpr float kCodyWaiteLimit = 0x1p20f;

}  // namespace lockstep::numerics::tables
