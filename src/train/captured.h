// Phases of a step that the device captured (numerics/device.h): in every step after that one call
// does the work of hundreds, and the host does not walk through networks. What several ranks
// exchange, gradients and batch statistics, comes in its place in every launch, in the group of the
// step that was captured. For GPUs, with portable numerics; what looks into a step (traces,
// activations, witnessed lanes) takes it as it is. Bits: none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lockstep/numerics/device.h"
#include "lockstep/objective/objective.h"
#include "train/phase.h"

namespace lockstep::train {

class CapturedPhases {
 public:
  // The step's samples, in the memory that captured phases read, if there are any.
  objective::Batch in_place(const objective::Batch& batch);

  // What `compute` gives for the phase of this name and these samples, in_place's. The first time
  // by a call, which leaves what devices keep; the second captures a call; then by launches. By
  // calls alone where the device captures nothing, or where less memory would be left than a call
  // takes, or than `room`, in bytes: a warning says so. What was given is good until the next
  // launch. Collective: as `compute` is.
  PhaseResult operator()(const std::string& phase, const objective::Batch& batch, std::int64_t room,
                         const std::function<PhaseResult()>& compute);

 private:
  struct One {
    bool called = false;
    Draw first;                                // of the samples that it was captured with
    std::unique_ptr<numerics::Captured> work;  // outlives its result
    PhaseResult result;
  };
  // Whether it is captured now; if not, no phase is captured any more.
  bool capture(One& one, std::int64_t room, const std::function<PhaseResult()>& compute);

  bool captures_ = true;
  objective::Batch batch_;
  std::map<std::string, One> phases_;
};

}  // namespace lockstep::train
