#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::numerics {

void Cpu::time_embedding(std::int64_t n, std::int64_t width, const float* t, float* out) {
  LOCKSTEP_ASSERT(width % 2 == 0 && width > 0, std::to_string(width));
  const std::int64_t half = width / 2;
  std::vector<double> frequency(static_cast<std::size_t>(half));
  const double log_longest = host::log(10000.0);
  for (std::int64_t i = 0; i < half; ++i) {
    frequency[static_cast<std::size_t>(i)] =
        host::exp(-log_longest * static_cast<double>(i) / static_cast<double>(half));
  }
  parallel_for(n, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(t[s]) * frequency[static_cast<std::size_t>(i)];
        out[s * width + i] = static_cast<float>(host::cos(angle));
        out[s * width + half + i] = static_cast<float>(host::sin(angle));
      }
    }
  });
}

}  // namespace lockstep::numerics
