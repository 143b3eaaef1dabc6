// What a run would be and cost: `train --dry-run`.
#pragma once

#include <filesystem>

#include "lockstep/recipe/recipe.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/training.h"

namespace lockstep::cli {

// Prints the resolved recipe, its id, parameters, FLOPs a step, a rank's memory for several numbers
// of lanes at once, or for the one asked for (0: none is), and warnings; trains nothing. folder:
// that the run would have, or has. What fits here is in the text alone: the JSON is the same on all
// CPUs, and with the same exchange on all GPUs.
void dry_run(const recipe::Recipe& recipe, const std::filesystem::path& folder,
             const train::Ranks& ranks, const train::Exchanges& exchanges,
             std::int64_t lanes_at_once, bool json);

}  // namespace lockstep::cli
