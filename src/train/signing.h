// Signing a run's checkpoints (--sign): whether the folder may be signed by this key, what an
// earlier attempt left unsigned, and what a statement must fit.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lockstep/checkpoint/signer.h"
#include "train/run_folder.h"

namespace lockstep::train {

// What the statement says that is not so, in words; nothing if it fits.
std::optional<std::string> misfit(const checkpoint::Statement& statement,
                                  const ledger::Header& header);
std::optional<std::string> misfit(const checkpoint::Statement& statement,
                                  const ledger::Ledger& ledger);
std::optional<std::string> misfit(const checkpoint::Statement& statement,
                                  const checkpoint::Loaded& checkpoint);

// The statements of a folder that goes on with `key`, or without. Throws Error(kUsage) if it is
// signed by another, or signed at all and there is no key: evidence is not mixed; Error(kCorrupt)
// for a statement that is damaged or whose parent is missing.
checkpoint::Statements statements_by(FileSystem& fs, const RunFolder& folder,
                                     const std::optional<hash::PrivateKey>& key);

// Error(kCorrupt) if what is signed is not what the ledger, and the checkpoint that the run goes on
// from, say now.
void require_signed(const RunFolder& folder, const checkpoint::Statements& statements,
                    const ledger::Ledger& ledger, const checkpoint::Loaded* newest);

// Signs the checkpoints up to `newest` that are later than any signed one: a killed attempt did not
// come to it, or had no key yet. What is damaged stays unsigned.
void sign_rest(FileSystem& fs, const RunFolder& folder, const Measure& measure,
               const checkpoint::Loaded& newest, Step last_signed, checkpoint::Signer& signer);

}  // namespace lockstep::train
