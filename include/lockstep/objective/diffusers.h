// What the package diffusers calls a scheduler: how its samplers take the steps of ours.
#pragma once

#include <optional>

#include "lockstep/core/json.h"
#include "lockstep/objective/options.h"

namespace lockstep::objective {

// The configuration of a scheduler of diffusers that samples as this objective does: DDIMScheduler
// for ddpm, FlowMatchEulerDiscreteScheduler for flow, EDMEulerScheduler for edm. Nothing where no
// step is taken (GANs), or where diffusers has no such process. Free of LibTorch.
std::optional<Json> diffusers_scheduler(const Options& options);

}  // namespace lockstep::objective
