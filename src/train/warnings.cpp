#include "lockstep/train/warnings.h"

#include "lockstep/core/counted.h"
#include "lockstep/data/labels.h"
#include "lockstep/monitor/monitor.h"

namespace lockstep::train {

std::vector<std::string> warnings(const recipe::Recipe& recipe, const data::Dataset& dataset) {
  std::vector<std::string> lines;
  if (recipe.data.classes > 0 && !data::files(recipe.data).empty())  // somebody gave the labels
    lines = monitor::imbalance(recipe.monitor, dataset.class_counts());
  const std::int64_t drawn = dataset.size() - recipe.data.holdout;
  const std::int64_t batch = recipe.batch.batch();
  if (recipe.data.holdout > 0 && drawn < batch)
    lines.push_back("[data]: holdout keeps " + std::to_string(recipe.data.holdout) + " of " +
                    counted(dataset.size(), "sample") + ": training draws from " +
                    std::to_string(drawn) + ", less than a batch of " + std::to_string(batch));
  return lines;
}

}  // namespace lockstep::train
