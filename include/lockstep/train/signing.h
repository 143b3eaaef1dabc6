// Signing a run's checkpoints (--sign): whether the folder may be signed by this key, what an
// earlier attempt left unsigned, and what a statement must fit.
#pragma once

#include <optional>
#include <string>

#include "lockstep/checkpoint/signer.h"
#include "lockstep/train/open_run.h"

namespace lockstep::train {

// What is wrong in the statement, in words; nothing if it fits.
std::optional<std::string> mismatch(const checkpoint::Statement& statement,
                                    const ledger::Header& header);
std::optional<std::string> mismatch(const checkpoint::Statement& statement,
                                    const ledger::Ledger& ledger);
std::optional<std::string> mismatch(const checkpoint::Statement& statement,
                                    const checkpoint::Loaded& checkpoint);

// The statements of a folder whose run goes on with `key`, or without one. Errors: kUsage if
// another key signed it, or if any signed it and none is given (evidence is not mixed); kCorrupt
// for a statement that is damaged or whose parent is missing.
checkpoint::Statements statements_by(FileSystem& fs, const RunFolder& folder,
                                     const std::optional<hash::PrivateKey>& key);

// Throws Error(kCorrupt) if a statement no longer fits the ledger, or the checkpoint that the run
// goes on from.
void require_signed(const RunFolder& folder, const checkpoint::Statements& statements,
                    const ledger::Ledger& ledger, const checkpoint::Loaded* newest);

// Signs the checkpoints up to `newest` that are later than every signed one: a killed attempt did
// not sign them, or had no key yet. Damaged ones stay unsigned.
void sign_rest(FileSystem& fs, const RunFolder& folder, const Measure& measure,
               const checkpoint::Loaded& newest, Step last_signed, checkpoint::Signer& signer);

}  // namespace lockstep::train
