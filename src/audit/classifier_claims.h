// The classifier that a run keeps for its evaluations, against the run's recipe.
#pragma once

#include "lockstep/audit/verify.h"
#include "lockstep/core/file_system.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::audit {

// Adds to `result` what does not hold in the run's folder of it, and a note if it keeps none.
void check_classifier(FileSystem& fs, const train::RunFolder& folder, const recipe::Recipe& recipe,
                      VerifyResult& result);

}  // namespace lockstep::audit
