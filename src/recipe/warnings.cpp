#include "lockstep/recipe/warnings.h"

namespace lockstep::recipe {

std::vector<std::string> warnings(const Recipe& recipe) {
  std::vector<std::string> lines;
  for (const NetworkOptions& network : recipe.networks) {
    const optim::Options& optimizer = network.optimizer;
    if (optimizer.schedule != "cosine" || recipe.run.steps <= optimizer.horizon) continue;
    lines.push_back("[" + network.role + ".optimizer]: the learning rate is 0 from step " +
                    std::to_string(optimizer.horizon) + " on (horizon), and run.steps is " +
                    std::to_string(recipe.run.steps));
  }
  return lines;
}

}  // namespace lockstep::recipe
