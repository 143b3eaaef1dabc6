#include "conformance/vectors.h"

#include <bit>

namespace lockstep::conformance {
namespace {

float power_of_two(int exponent) {  // normal range
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

float unit(std::uint32_t w) {
  return static_cast<float>(w >> 8) * 0x1p-23f - 1.0f;
}

float wide(std::uint32_t w) {
  return unit(w) * power_of_two(static_cast<int>(w % 256 % 33) - 16);
}

}  // namespace

const char* name(Make make) {
  switch (make) {
    case Make::kBits:
      return "bits";
    case Make::kUnit:
      return "unit";
    case Make::kPositive:
      return "positive";
    case Make::kWide:
      return "wide";
    case Make::kSparse:
      return "sparse";
    case Make::kSpecials:
      return "specials";
  }
  return nullptr;
}

std::uint32_t word(std::uint32_t seed, std::uint32_t i) {
  std::uint64_t z = ((std::uint64_t{seed} << 32) | i) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

float element(Make make, std::uint32_t seed, std::uint32_t i) {
  const std::uint32_t w = word(seed, i);
  switch (make) {
    case Make::kBits:
      return std::bit_cast<float>(w);
    case Make::kUnit:
      return unit(w);
    case Make::kPositive:
      return static_cast<float>(w >> 8) * 0x1p-24f;
    case Make::kWide:
      return wide(w);
    case Make::kSparse:
      return w % 8 != 0 ? wide(w) : (w >> 3) % 2 != 0 ? -0.0f : 0.0f;
    case Make::kSpecials:
      return std::bit_cast<float>(specials()[i % specials().size()]);
  }
  return 0;
}

double element64(double scale, std::uint32_t seed, std::uint32_t i) {
  const std::uint64_t bits =
      (std::uint64_t{word(seed, 2 * i)} << 21) | (word(seed, 2 * i + 1) >> 11);
  return (static_cast<double>(bits) * 0x1p-52 - 1.0) * scale;
}

const std::vector<std::uint32_t>& specials() {
  static const std::vector<std::uint32_t> table = {
      0x00000000, 0x80000000,                                      // +0, -0
      0x00000001, 0x80000001,                                      // the smallest subnormals
      0x007fffff, 0x807fffff,                                      // the largest
      0x00800000, 0x80800000, 0x00800001,                          // the smallest normal numbers
      0x7f7fffff, 0xff7fffff, 0x7f7ffffe,                          // the largest finite ones
      0x7f800000, 0xff800000,                                      // infinities
      0x7fc00000, 0xffc00000, 0x7fc12345, 0x7f800001,              // NaNs, one signalling
      0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff,              // around 1
      0x33800000, 0x33800001, 0xb3800000, 0x33000000, 0x34400000,  // ties beside 1
      0x3f000000, 0xbf000000, 0x40000000, 0xc0000000, 0x3fc00000,
      0x4b7fffff, 0x4b800000, 0x4b000001,              // around 2^24, 2^23 + 1
      0x42b17217, 0x42b17218, 0xc2ce8ed0, 0xc2cff1b5,  // the ends of exp: overflow, subnormal, zero
      0x3fc90fdb, 0x40490fdb, 0x7b79bc5d,              // near pi/2, pi; huge
      0x40a00000, 0xc0a00000, 0x41102cb4, 0x40754b45   // where tanh, erf reach 1
  };
  return table;
}

}  // namespace lockstep::conformance
