// The samplers in the table of sampler_steps.cpp: what step t does with x0 and x.
#pragma once

#include "lockstep/objective/sampler_steps.h"

namespace lockstep::objective {

// But for `x0`, which the process knows.
std::vector<SamplerStep> ancestral_steps(const Schedule& schedule);
std::vector<SamplerStep> ddim_steps(const Schedule& schedule, std::int64_t visited);

}  // namespace lockstep::objective
