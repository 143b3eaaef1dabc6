// A run's steps computed again from what its folder holds, which is never written to.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lockstep/comm/group.h"
#include "lockstep/train/step.h"
#include "train/batches.h"
#include "train/run_folder.h"

namespace lockstep::train {

class Again {
 public:
  // data: another place of the data set than the recipe's. `group` must outlive this. All ranks
  // read the folder. Errors: kUsage (no run, or of other semantics), kCorrupt, kData (not the run's
  // data set), kEnvironment.
  Again(std::filesystem::path folder, const std::optional<std::string>& data, comm::Group& group);

  const ledger::Ledger& ledger() const { return ledger_; }
  Step last() const { return Step(static_cast<std::int64_t>(ledger_.entries.size())); }
  const recipe::Recipe& recipe() const { return recipe_; }
  const RunFolder& folder() const { return folder_; }
  Training& training() { return *training_; }

  // From the next restore on, no lane is computed twice.
  void without_witnesses() { recipe_.evidence.witness_rate = 0; }

  // Makes the state that of the newest checkpoint at or before `target`, or of step 0. Returns the
  // step from which it goes on. Error(kCorrupt) if that checkpoint is damaged.
  Step restore(Step target);
  // The next step. Collective: yes. Bits: recipe, data, state.
  StepRecord step();
  // What the ledger says of a step.
  const ledger::Entry& said(Step step) const;

 private:
  const RunFolder folder_;
  comm::Group& group_;
  recipe::Recipe recipe_;
  std::unique_ptr<data::Dataset> dataset_;
  ledger::Ledger ledger_;
  std::optional<Training> training_;
  std::optional<Batches> batches_;
};

}  // namespace lockstep::train
