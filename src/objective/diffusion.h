// Training and sampling of a network that takes noise away, whatever the process.
#pragma once

#include "lockstep/objective/diffusion.h"
#include "lockstep/objective/objective.h"
#include "lockstep/objective/process.h"

namespace lockstep::objective {

// `name`: the beginning of its streams. Error(kUsage) for another sort of network than a denoiser,
// and for options about classes where there are none. Bits: arguments.
std::unique_ptr<Objective> make_diffusion(const std::string& name, const DiffusionOptions& options,
                                          std::unique_ptr<Process> process, const Setting& setting);

}  // namespace lockstep::objective
