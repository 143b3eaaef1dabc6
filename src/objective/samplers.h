// The samplers in the table of schedule.cpp: what step t does with x0 and x.
#pragma once

#include "lockstep/objective/schedule.h"

namespace lockstep::objective {

// Only t, next_from_x0, next_from_x and noise are set: x0 is common to all samplers.
std::vector<SamplerStep> ancestral_steps(const Schedule& schedule);
std::vector<SamplerStep> ddim_steps(const Schedule& schedule, std::int64_t visited);

}  // namespace lockstep::objective
