#include "lockstep/objective/flow.h"

#include "lockstep/objective/rectified_flow.h"
#include "objective/diffusion.h"
#include "objective/kinds.h"

namespace lockstep::objective {

std::unique_ptr<Objective> make_flow(const Options& options, const Setting& setting) {
  const auto& o = options.kind.as<FlowOptions>();
  return make_diffusion("flow", o, make_rectified_flow(o), setting);
}

}  // namespace lockstep::objective
