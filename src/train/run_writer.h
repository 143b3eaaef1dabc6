// Rank 0 reads and writes the run folder for all ranks while a run goes on. The others do not touch
// it, so they need no folder in common.
#pragma once

#include <functional>
#include <memory>

#include "lockstep/checkpoint/store.h"
#include "lockstep/train/open_run.h"
#include "lockstep/train/run.h"
#include "lockstep/train/step.h"
#include "train/metrics.h"
#include "train/pace.h"

namespace lockstep::train {

class RunWriter {
 public:
  // Makes or continues the folder, holds its lock from here on, and restores `training` from its
  // newest checkpoint. Errors: those of `run`.
  RunWriter(const RunOptions& options, const data::Dataset& dataset, Training& training);

  void announce() const;
  // The attempt begins. Error(kEnvironment) if a native run would go on with other kernels.
  void environments(const std::vector<std::string>& fingerprints);
  // The restored state, for the other ranks; null if none was. forget_restored frees it.
  const state::State* restored() const;
  void forget_restored();

  // Metrics have each rank's from now on, and while samples are made and checkpoints are waited for
  // the other ranks may wait in pace.agree. Both live as long as steps are noted.
  void show_pace(Pace& pace, comm::Group& group) {
    pace_ = &pace;
    group_ = &group;
  }

  // Writes the step's ledger line and metrics. A step that an earlier attempt did must come out the
  // same, else Error(kDiffer).
  void note(const StepRecord& record, const monitor::Report& report);
  // Makes the samples that are due at this step, after its checkpoint: so those that a checkpoint
  // lacks are made by whoever goes on from it. Are some left, because a signal asks for an end?
  bool leaves_samples();
  // Writes why the run ends early; never throws.
  void note_stop(const std::string& by, const Error& reason) noexcept;
  // Saves a checkpoint of this step in the background.
  void save(const state::State& whole, checkpoint::Reason reason);
  // Returns when all is durable.
  void finish();
  // Of that step: the ledger may go on behind it, where a run was killed.
  const hash::Digest& chain(Step step) const { return ledger_->chain(step); }

 private:
  Step at() const { return training_.state.step; }
  Step end() const { return Step(recipe_.run.steps); }
  bool others_stop() { return pace_ && pace_->keep_busy(*group_); }  // meanwhile
  // Does what a slow disk may make long, while the other ranks see that this one is busy.
  void while_busy(const std::function<void()>& part);
  bool has_samples();  // files of this step
  void write_samples();
  Metrics& metrics();
  void begin_from(const RunOptions& options);
  std::string source_option() const;  // of `train`: what names the state that the run starts from

  FileSystem& fs_ = real_file_system();
  const recipe::Recipe recipe_;
  const RunFolder folder_;
  const bool tensorboard_;
  Training& training_;
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<ledger::Writer> ledger_;
  std::optional<checkpoint::Signer> signer_;
  std::unique_ptr<checkpoint::Saver> saver_;  // uses the signer
  Attempt attempt_;
  Pace* pace_ = nullptr;
  comm::Group* group_ = nullptr;
  std::unique_ptr<Metrics> metrics_;  // once there is a step
  std::optional<checkpoint::Loaded> loaded_;
  std::optional<state::State> start_;  // step 0 of a new run, taken from another run
};

}  // namespace lockstep::train
