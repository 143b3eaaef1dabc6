// What the tests of matrix products and convolutions share: data, bit comparison, every way to run
// a kernel, and the chain of gemm.h once more, written for clarity alone.
#pragma once

#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/numerics/isa.h"
#include "numerics/device.h"

namespace lockstep::numerics::testing {

using Floats = std::vector<float>;

inline std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// An integer of [low, high].
inline std::int64_t draw(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange<std::int64_t>(low, high + 1);
}

// Values of many magnitudes, with zeros of both signs: sums in another order differ.
inline Floats random_floats(std::int64_t n, std::uint32_t seed) {
  Floats values(size(n));
  std::uint32_t state = seed * 2654435761u + 1;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    const float mantissa = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
    const std::uint32_t kind = state >> 4 & 15;
    v = kind == 0   ? 0.0F
        : kind == 1 ? -0.0F
                    : std::ldexp(mantissa, static_cast<int>(kind % 5) * 3 - 6);
  }
  return values;
}

// A NaN is like any other: products and sums do not say which (docs/numerics.md), and a GPU's is
// 0x7fffffff.
inline bool same_bits(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

// The blocked chain over n pairs: pair(k) gives both factors.
inline float reference_chain(std::int64_t n,
                             const std::function<std::pair<float, float>(std::int64_t)>& pair) {
  std::vector<float> blocks;
  for (std::int64_t k = 0; k < n; ++k) {
    if (k % kBlock == 0) blocks.push_back(0.0F);
    const auto [a, b] = pair(k);
    blocks.back() = std::fma(a, b, blocks.back());
  }
  if (blocks.empty()) return 0.0F;
  float sum = blocks[0];
  for (std::size_t i = 1; i < blocks.size(); ++i) sum = sum + blocks[i];
  return sum;
}

// Restores the process's choices.
class EveryWay {
 public:
  ~EveryWay() {
    use_isa(best_isa());
    use_threads(1);
  }

  // Runs `kernel` (which fills a buffer of n floats) on each instruction set with 1, 2 and 7
  // threads and on the emulated GPU, and compares with `expected`; the first difference in words,
  // or "".
  std::string differs(const Floats& expected, const std::function<void(float*)>& kernel) {
    for (const Isa isa : usable_isas()) {
      for (const int threads : {1, 2, 7}) {
        use_isa(isa);
        use_threads(threads);
        Floats out(expected.size(), -777.0F);
        kernel(out.data());
        if (same_bits(out, expected)) continue;
        return std::string(name(isa)) + " with " + std::to_string(threads) + " threads";
      }
    }
    const OnGpu gpu;
    Floats out(expected.size(), -777.0F);
    kernel(out.data());
    return same_bits(out, expected) ? "" : "the emulated GPU";
  }
};

}  // namespace lockstep::numerics::testing
