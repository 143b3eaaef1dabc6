// Private: a saved state, of a run or of a checkpoint that stands alone.
#pragma once

#include <string>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

struct OpenedState {
  recipe::Recipe recipe;
  checkpoint::Loaded loaded;
};

// source: RUN, RUN@STEP (open_run.h), or a checkpoint, whose claims must fit its own recipe.
// Errors: kUsage, kCorrupt.
OpenedState open_state(FileSystem& fs, const std::string& source);

}  // namespace lockstep::train
