#include "lockstep/recipe/warnings.h"

#include <algorithm>

namespace lockstep::recipe {

std::vector<std::string> warnings(const Recipe& recipe) {
  std::vector<std::string> lines;
  const std::int64_t before = updates_before(recipe);
  const std::string counted =
      before > 0 ? ", which counts the " + std::to_string(before) + " updates before this run" : "";
  for (const NetworkOptions& network : recipe.networks) {
    const optim::Options& optimizer = network.optimizer;
    const std::string where = "[" + network.role + ".optimizer]: ";
    if (before > 0 && optimizer.warmup > 0 && optimizer.warmup <= before)
      lines.push_back(where + "warmup is " + std::to_string(optimizer.warmup) + counted +
                      ": it is over already");
    const std::int64_t end = std::max<std::int64_t>(optimizer.horizon - before, 0);
    if (optimizer.schedule == "cosine" && recipe.run.steps > end)
      lines.push_back(where + "the learning rate is 0 from step " + std::to_string(end) +
                      " on: horizon is " + std::to_string(optimizer.horizon) + counted +
                      ", and run.steps is " + std::to_string(recipe.run.steps));
  }
  return lines;
}

}  // namespace lockstep::recipe
