// Runs something once for every implementation: those that this CPU can run, and CUDA's, emulated.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/numerics/isa.h"
#include "numerics/device.h"

namespace lockstep::numerics {

template <class Body>
void with_every_isa(Body&& body) {
  for (const Isa isa : usable_isas()) {
    SCOPED_TRACE(std::string(name(isa)));
    use_isa(isa);
    body();
  }
  use_isa(best_isa());
  SCOPED_TRACE("emulated GPU");
  const OnGpu gpu;
  body();
}

inline std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

// The first index where the bits differ, or -1.
inline std::int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (bits_of(a[i]) != bits_of(b[i])) return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace lockstep::numerics
