#include "lockstep/objective/process.h"

#include "lockstep/core/error.h"

namespace lockstep::objective {

const NoiseSchedule& Process::schedule() const {
  throw Error(Code::kBug, "this process has no timesteps");
}

}  // namespace lockstep::objective
