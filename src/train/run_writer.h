// What rank 0 does for all: everything that is read from and written to the run folder while a run
// goes on. The other ranks have none of it: they need no folder in common.
#pragma once

#include <memory>

#include "lockstep/checkpoint/store.h"
#include "lockstep/train/run.h"
#include "lockstep/train/step.h"
#include "train/metrics.h"
#include "train/run_folder.h"

namespace lockstep::train {

class RunWriter {
 public:
  // Makes or continues the folder, whose lock it holds from here on, and restores `training` from
  // its newest checkpoint. Errors: those of `run`.
  RunWriter(const RunOptions& options, const data::Dataset& dataset, Training& training);

  void announce() const;
  // The attempt begins. Error(kEnvironment) where a native run would go on with other kernels.
  void environments(const std::vector<std::string>& fingerprints);
  // What the state was restored from, for the other ranks; then it is forgotten.
  const state::State* restored() const;
  void forget_restored();

  // The step's line and metrics; a picture when it is due. A step that an earlier attempt did
  // already must come out the same: Error(kDiffer).
  void note(const StepRecord& record, const monitor::Report& report);
  // A checkpoint of now, written in the background.
  void save(const state::State& whole, checkpoint::Reason reason);
  // Returns when all is durable.
  void finish();
  const hash::Digest& chain() const { return ledger_->ledger().chain(); }

 private:
  Step at() const { return training_.state.step; }
  Step end() const { return Step(recipe_.run.steps); }
  bool due(std::int64_t every) const { return every > 0 && at().value % every == 0; }
  void write_sample();
  void begin_from(const RunOptions& options);

  FileSystem& fs_ = real_file_system();
  const recipe::Recipe recipe_;
  const RunFolder folder_;
  Training& training_;
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<ledger::Writer> ledger_;
  std::optional<checkpoint::Signer> signer_;
  std::unique_ptr<checkpoint::Saver> saver_;  // uses the signer
  Attempt attempt_;
  std::unique_ptr<Metrics> metrics_;  // once there is a step
  std::optional<checkpoint::Loaded> loaded_;
  std::optional<state::State> start_;  // step 0, where it is another run's and has just been made
};

}  // namespace lockstep::train
