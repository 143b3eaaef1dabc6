// Computes a run's steps again from its folder, which is never written to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/step.h"

namespace lockstep::audit {

class ReplaySession {
 public:
  // data: where the data set lies, if not where the recipe says. `group` must outlive this, and is
  // a comm::Queue or of one rank. All ranks read the folder, or copies of it, and take the steps that
  // all have. Errors: kUsage (no run, of other semantics, or not the same on all ranks), kCorrupt,
  // kData (not the run's data set), kEnvironment.
  ReplaySession(std::filesystem::path folder, const std::optional<std::string>& data,
                comm::Group& group);

  // From the next restore on, so many lanes at once go through a pass, or as many as fit:
  // train::plan_step. Without it all of them do.
  void plan_memory(std::int64_t lanes_at_once, int processes);

  const ledger::Ledger& ledger() const { return ledger_; }
  Step last() const { return ledger_.last(); }
  // Which rank has fewer lines of it than another, of which no rank takes the rest; else "".
  const std::string& cut() const { return cut_; }
  const recipe::Recipe& recipe() const { return recipe_; }
  const train::RunFolder& folder() const { return folder_; }
  train::Training& training() { return *training_; }

  // From the next step on, evaluations are computed, too, where the recipe has them. features:
  // where the classifier lies, if neither in the run's folder nor where the recipe says. Errors: as
  // train::IntervalEvaluation.
  void with_evaluation(const std::string& features);
  bool evaluates() const { return evaluation_.has_value(); }
  // From the next restore on, lanes are computed only once.
  void without_witnesses() { recipe_.evidence.witness_rate = 0; }

  // Restores the newest checkpoint at or before `target` that all ranks have, or step 0. Returns the
  // step restored. Error(kCorrupt) if that checkpoint is damaged.
  Step restore(Step target);
  // Restores, and computes up to the step before `target`. Error(kUsage) if the ledger does not
  // have that step; else as restore.
  struct Way {
    Step started;                     // what was restored
    std::vector<std::string> before;  // roots of the states that the steps on the way began with
  };
  Way go_before(Step target);
  // The next step. Collective: yes. Bits: recipe, data, state.
  train::StepRecord step();
  // What the ledger says of a step.
  const ledger::Entry& entry(Step step) const;

 private:
  void open(const std::optional<std::string>& data);
  void agree_on_ledger();
  Step restore_own(Step target);

  const train::RunFolder folder_;
  comm::Group& group_;
  train::StepPlan plan_;
  recipe::Recipe recipe_;
  std::unique_ptr<data::Dataset> dataset_;
  ledger::Ledger ledger_;
  std::string cut_;
  std::optional<train::Training> training_;
  std::optional<train::Batches> batches_;
  std::optional<train::IntervalEvaluation> evaluation_;
};

}  // namespace lockstep::audit
