// What a run's picture says of itself, against the run's ledger.
#pragma once

#include <filesystem>
#include <vector>

#include "lockstep/audit/verify.h"
#include "lockstep/data/png.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::audit {

// What does not follow from the ledger; none if `texts` are exactly those that training writes into
// a picture of this name.
std::vector<Finding> misfits(const train::RunFolder& folder, const std::filesystem::path& picture,
                             const data::Provenance& texts, const ledger::Ledger& ledger);

}  // namespace lockstep::audit
