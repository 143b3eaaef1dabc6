#include "lockstep/model/time_embedding.h"

#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/record.h"

namespace lockstep::model {

at::Tensor time_embedding(const at::Tensor& t, std::int64_t width) {
  LOCKSTEP_ASSERT(width % 2 == 0 && width > 0, std::to_string(width));
  const std::int64_t n = t.numel(), half = width / 2;
  std::vector<double> frequency(static_cast<std::size_t>(half));
  const double log_longest = numerics::host::log(10000.0);
  for (std::int64_t i = 0; i < half; ++i) {
    frequency[static_cast<std::size_t>(i)] =
        numerics::host::exp(-log_longest * static_cast<double>(i) / static_cast<double>(half));
  }
  at::Tensor embedding = ops::empty({n, width});
  const float* time = ops::read(t);
  float* out = ops::write(embedding);
  for (std::int64_t s = 0; s < n; ++s) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(time[s]) * frequency[static_cast<std::size_t>(i)];
      out[s * width + i] = static_cast<float>(numerics::host::cos(angle));
      out[s * width + half + i] = static_cast<float>(numerics::host::sin(angle));
    }
  }
  return embedding;
}

}  // namespace lockstep::model
