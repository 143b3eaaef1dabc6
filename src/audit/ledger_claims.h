// Private: what a run's ledger says, beside a head that somebody kept, within itself, and beside its
// recipe's start.
#pragma once

#include <optional>

#include "lockstep/audit/verify.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::audit {

// Adds that no line has the head `kept`, if there is one. A step's chain covers all steps before it:
// a ledger that has the chain has those steps.
void check_head(const train::RunFolder& folder, const ledger::Ledger& ledger,
                const std::optional<hash::Digest>& kept, VerifyResult& result);

// Adds the steps that did not start from what the one before left.
void check_states(const train::RunFolder& folder, const ledger::Ledger& ledger,
                  VerifyResult& result);

// Adds what its ledger says otherwise of step 1's start, or why that is not compared. Of a run that
// starts from another state nothing: its step 0 is there. shape: of samples, as a checkpoint or the
// data have it; a state made for another one has other tensors, or the same.
void check_start(const train::RunFolder& folder, const ledger::Ledger& ledger,
                 const recipe::Recipe& recipe, const std::optional<train::Shape>& shape,
                 VerifyResult& result);

}  // namespace lockstep::audit
