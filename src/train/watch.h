// What the monitors see of each step, the same on every rank.
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/monitor/monitor.h"
#include "lockstep/train/step.h"

namespace lockstep::train {

class Watch {
 public:
  explicit Watch(const monitor::Options& options) : options_(options), monitor_(options) {}
  // What the monitors want of this step besides its record.
  Look look_at(Step step) const {
    return monitor_.layers_due(step) ? Look::kActivations : Look::kNone;
  }
  // To be called after this record's step. A look draws the same samples on every rank and adds up
  // the discriminator's answers. Changes no bit of the state. Collective: yes.
  monitor::Report after(const StepRecord& record, Training& training, comm::Group& group);

 private:
  monitor::Options options_;
  monitor::Monitor monitor_;
};

// What ends a run that a monitor stopped: Error(kDiverged) with the monitor's line. saved: the last
// step that has a checkpoint; 0: none.
Error stopped_by(const monitor::Report& report, Step saved);

}  // namespace lockstep::train
