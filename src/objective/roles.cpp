#include "lockstep/objective/options.h"

namespace lockstep::objective {

std::vector<std::string> roles(const Options& options) {
  if (options.kind == "gan" || options.kind == "hinge-gan") return {"generator", "discriminator"};
  return {"model"};
}

}  // namespace lockstep::objective
