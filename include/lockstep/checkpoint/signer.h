// The statements of a run's folder of checkpoints: reading them, and signing one after the other.
//
// The statements of scheduled checkpoints are a chain: each names the one before as its parent, and
// they stay when their checkpoints are retired. Any other (saved at a signal, or as a run's last)
// hangs from the chain, is nobody's parent, and goes with its checkpoint: so the files are the same
// whether or not the run was interrupted.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/checkpoint/statement.h"
#include "lockstep/core/file_system.h"

namespace lockstep::checkpoint {

// "step-00000500.h5.sig", and back (nothing for other names).
std::string statement_name(Step step);
std::optional<Step> step_of_statement(const std::string& name);

using Statements = std::map<Step, Statement>;

// Error(kCorrupt) for the first that is damaged or has another step's name.
Statements read_statements(FileSystem& fs, const std::filesystem::path& folder);

// Those whose parent is neither none nor one of an earlier step: it was dropped, or never was.
std::vector<Step> orphans(const Statements& statements);

// Not for use by several threads.
class Signer {
 public:
  // run: the chain of the ledger's header. every: a scheduled checkpoint is at a multiple of it; 0:
  // none is. statements: what read_statements found in `folder`.
  Signer(FileSystem& fs, std::filesystem::path folder, const hash::PrivateKey& key,
         const hash::Digest& run, std::int64_t every, Statements statements);

  // Publishes, durably, the statement of the checkpoint whose file has this root (`publish`).
  void sign(const Meta& meta, Step step, const hash::Digest& root);
  // Removes statements before `newest` that are not of the chain and whose checkpoints are gone.
  void retire(Step newest);

 private:
  bool in_chain(Step step) const { return due(step, every_); }
  hash::Digest parent_of(Step step) const;

  FileSystem& fs_;
  std::filesystem::path folder_;
  hash::PrivateKey key_;
  hash::Digest run_;
  std::int64_t every_;
  Statements statements_;
};

}  // namespace lockstep::checkpoint
