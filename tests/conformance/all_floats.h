// All 2^32 floats in chunks, and one number for a function's results on all of them.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "support/cpu.h"

namespace lockstep::conformance {

inline constexpr std::uint64_t kAllFloats = std::uint64_t{1} << 32;
inline constexpr std::size_t kChunk = std::size_t{1} << 22;

struct NamedUnary {
  const char* name;
  numerics::Unary op;
};
inline constexpr NamedUnary kCorrectlyRounded[] = {
    {"exp", numerics::Unary::kExp},   {"log", numerics::Unary::kLog},
    {"sin", numerics::Unary::kSin},   {"cos", numerics::Unary::kCos},
    {"tanh", numerics::Unary::kTanh}, {"erf", numerics::Unary::kErf}};

// The floats with bits first, first + 1, …
inline void fill_chunk(std::uint64_t first, std::vector<float>& xs) {
  for (std::size_t i = 0; i < xs.size(); ++i) {
    xs[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
  }
}

// Sum modulo 2^64 of mix(argument's bits * 2^32 + result's bits), mix the finaliser of SplitMix64:
// chunks may be summed in any order.
inline std::uint64_t sum_of_chunk(std::uint64_t first, const std::vector<float>& results) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::uint64_t z = ((first + i) << 32) | std::bit_cast<std::uint32_t>(results[i]);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    sum += z ^ (z >> 31);
  }
  return sum;
}

}  // namespace lockstep::conformance
