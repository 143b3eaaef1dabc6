#include "lockstep/recipe/warnings.h"

#include <algorithm>

namespace lockstep::recipe {

std::vector<std::string> warnings(const Recipe& recipe) {
  std::vector<std::string> lines;
  for (const NetworkOptions& network : recipe.networks) {
    const optim::Options& optimizer = network.optimizer;
    const std::int64_t end = optimizer.horizon - updates_before(recipe);
    if (optimizer.schedule != "cosine" || recipe.run.steps <= end) continue;
    lines.push_back("[" + network.role + ".optimizer]: the learning rate is 0 from step " +
                    std::to_string(std::max<std::int64_t>(end, 0)) +
                    " on (horizon), and run.steps is " + std::to_string(recipe.run.steps));
  }
  return lines;
}

}  // namespace lockstep::recipe
