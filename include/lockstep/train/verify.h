// Checks a run's (or one checkpoint's) evidence against itself, without training: every byte of
// recipe, ledger, checkpoints, sidecars, statements and pictures is vouched for by something.
// docs/verify.md says what this proves and what it does not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/ids.h"

namespace lockstep::train {

struct Finding {
  Code code;         // kCorrupt: damaged; kDiffer: intact files that disagree
  std::string what;  // one line: file, place, what is wrong
};

struct VerifyResult {
  std::vector<Finding> findings;
  std::int64_t steps = 0, checkpoints = 0, pictures = 0;  // looked at
  std::string recipe, chain;                              // id and head of the ledger, hexadecimal
  std::optional<Step> signed_to;  // where a key was given and all holds: newest step that is signed

  Code code() const;  // kOk, else kCorrupt if anything is damaged, else kDiffer
};

// path: a run folder or a checkpoint (.h5). Throws Error(kUsage) if it is neither.
// chain: a head of this run's ledger that was kept elsewhere. Evidence that was put back to before
// it, or that comes from another run, is damaged; of a checkpoint it must be the chain. Throws
// Error(kUsage) if it is not 64 hexadecimal digits.
// key: a public key file (hash/key_file.h). Every checkpoint must then have a statement by it, and
// what does not fit is damaged, never a mere disagreement. Throws Error(kUsage) if it is no key.
VerifyResult verify(const std::filesystem::path& path,
                    const std::optional<std::string>& chain = std::nullopt,
                    const std::optional<std::filesystem::path>& key = std::nullopt);

}  // namespace lockstep::train
