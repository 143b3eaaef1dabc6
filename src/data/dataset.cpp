#include "lockstep/data/dataset.h"

namespace lockstep::data {

std::int64_t Dataset::sample_values() const {
  std::int64_t values = 1;
  for (const std::int64_t d : sample_shape()) values *= d;
  return values;
}

std::unique_ptr<Dataset> open(const Options& options) {
  return options.kind.row("data.kind").open(options);
}

}  // namespace lockstep::data
