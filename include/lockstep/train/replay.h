// Recomputes a window of a run's steps and compares every digest with the ledger: the proof that
// the run is what its evidence says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lockstep/core/ids.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

struct ReplayOptions {
  std::filesystem::path folder;     // the run; never written to
  Step from{1};                     // first step recomputed and compared
  std::optional<Step> to;           // last one; default: the ledger's end
  std::optional<std::string> data;  // another place of the data set; default: the recipe's
  int threads = 1;
};

struct ReplayResult {
  Step started;                 // checkpoint (or 0) the recomputation began from
  Step from, to;                // window compared
  std::optional<Step> differs;  // first step that is not what the ledger says
  std::string what;             // which part of it
};

ReplayResult replay(const ReplayOptions& options);

}  // namespace lockstep::train
