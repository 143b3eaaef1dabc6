#include "lockstep/objective/process.h"

#include "lockstep/core/error.h"

namespace lockstep::objective {

const NoiseSchedule& Process::schedule() const {
  throw Error(Code::kBug, "this process has no timesteps");
}

std::vector<double> Process::times(std::int64_t) const {
  throw Error(Code::kBug, "this process is not in continuous time");
}

}  // namespace lockstep::objective
