#include "lockstep/data/dataset.h"

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/data/augment.h"

namespace lockstep::data {

std::int64_t Dataset::sample_values() const {
  std::int64_t values = 1;
  for (const std::int64_t d : sample_shape()) values *= d;
  return values;
}

std::int64_t Dataset::label(Sample) const {
  throw Error(Code::kBug, "these data have no labels");
}

std::vector<std::int64_t> Dataset::class_counts() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes()));
  for (std::int64_t i = 0; i < size(); ++i) ++counts[static_cast<std::size_t>(label(Sample(i)))];
  return counts;
}

Options whole(Options options) {
  options.holdout = 0;
  return options;
}

std::unique_ptr<Dataset> open(const Options& options) {
  auto dataset = options.kind.row("data.kind").open(options);
  if (options.holdout >= dataset->size())
    throw Error(Code::kUsage,
                "[data]: holdout: " + std::to_string(options.holdout) + " of " +
                    counted(dataset->size(), "sample") + ": none is left to train",
                "set data.holdout below " + std::to_string(dataset->size()));
  require_augmentable(options, *dataset);
  return dataset;
}

}  // namespace lockstep::data
