#include "lockstep/objective/condition.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"

namespace lockstep::objective {

std::vector<float> condition_rows(const std::vector<std::int64_t>& labels, std::int64_t classes) {
  const std::int64_t n = std::ssize(labels);
  std::vector<float> rows(static_cast<std::size_t>(n * classes));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t label = labels[static_cast<std::size_t>(i)];
    if (label == kNoClass) continue;
    LOCKSTEP_ASSERT(label >= 0 && label < classes, std::to_string(label));
    rows[static_cast<std::size_t>(i * classes + label)] = 1.0F;
  }
  return rows;
}

at::Tensor condition_of(const std::vector<std::int64_t>& labels, std::int64_t classes) {
  if (classes == 0) return {};
  return ops::from_host(condition_rows(labels, classes), {std::ssize(labels), classes});
}

}  // namespace lockstep::objective
