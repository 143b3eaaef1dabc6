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

namespace lockstep::audit {

struct Finding {
  // kCorrupt: damaged, or nothing of the run's; kDiffer: intact files that disagree; kEnvironment:
  // it cannot be read here.
  Code code;
  std::string what;  // one line: file, place, what is wrong
  bool foreign = false;
  bool not_signed = false;  // intact perhaps, but asked for with a key
};
// "damaged", "foreign", "unsigned", "disagrees" or "unreadable".
const char* kind_of(const Finding& finding);

struct VerifyOptions {
  // A head of this run's ledger that was kept elsewhere, 64 hexadecimal digits. Evidence that was
  // put back to before it, or that comes from another run, is damaged; of a checkpoint it must be
  // the chain.
  std::optional<std::string> chain = {};
  // A public key file (hash/key_file.h). Every checkpoint must then have a statement by it, and
  // what does not fit is damaged, never a mere disagreement.
  std::optional<std::filesystem::path> key = {};
  // Another place of the data set than the recipe's.
  std::optional<std::string> data = {};
  // The run whose state this one starts from, then that one's, and so on: verified too.
  std::vector<std::filesystem::path> parents = {};
};

struct VerifyResult {
  std::vector<Finding> findings;
  std::vector<std::string> notes;  // what was compared that is not always, and what could not be
  std::int64_t steps = 0, checkpoints = 0, pictures = 0;  // looked at
  std::string recipe, chain;                              // id and head of the ledger, hexadecimal
  std::optional<Step> signed_to;  // where a key was given and all holds: newest step that is signed

  Code code() const;  // kOk, else kCorrupt if anything is damaged, else kEnvironment, else kDiffer
};

// path: a run folder or a checkpoint (.h5). Throws Error(kUsage) if it is neither, or for a chain
// or key that is none.
VerifyResult verify(const std::filesystem::path& path, const VerifyOptions& options = {});

}  // namespace lockstep::audit
