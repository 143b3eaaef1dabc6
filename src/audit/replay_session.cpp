#include "audit/replay_session.h"

#include <algorithm>

#include "lockstep/comm/gather.h"
#include "lockstep/comm/own_time.h"
#include "lockstep/core/error.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/open_run.h"

namespace lockstep::audit {

ReplaySession::ReplaySession(std::filesystem::path folder, const std::optional<std::string>& data,
                             comm::Group& group)
    : folder_{std::move(folder)}, group_(group) {
  comm::in_own_time(group_, [&] { open(data); });
  agree_on_ledger();
}

// A run that is trained meanwhile has more lines for the rank that reads later, and ranks with
// copies of it may have others: all take the lines that all have.
void ReplaySession::agree_on_ledger() {
  const auto ends = comm::gather(group_, std::vector{last().value});
  const auto shortest = std::ranges::min_element(ends), longest = std::ranges::max_element(ends);
  const std::int64_t steps = shortest->front();
  if (shortest->front() < longest->front())
    cut_ = "rank " + std::to_string(shortest - ends.begin()) + " sees the ledger up to step " +
           std::to_string(shortest->front()) + ", rank " + std::to_string(longest - ends.begin()) +
           " up to " + std::to_string(longest->front());
  ledger_.entries.resize(static_cast<std::size_t>(steps));
  const auto all = comm::gather(group_, std::vector{ledger_.chain()});
  const auto other = std::ranges::find_if(all, [&](const auto& one) { return one != all[0]; });
  if (other == all.end()) return;
  comm::await_all(group_);  // all find that
  throw Error(Code::kUsage,
              "up to step " + std::to_string(steps) + " rank " +
                  std::to_string(other - all.begin()) + " has another ledger than rank 0",
              "give all ranks the same run");
}

void ReplaySession::plan_memory(std::int64_t lanes_at_once, int processes) {
  plan_ = train::plan_step(recipe_, dataset_->sample_shape(), {.world = group_.size()}, group_,
                           lanes_at_once, processes);
}

void ReplaySession::open(const std::optional<std::string>& data) {
  FileSystem& fs = real_file_system();
  recipe_ = recipe::of_run(fs, folder_.root);
  if (data) data::move_to(recipe_.data, *data);
  dataset_ = train::open_data(fs, folder_, data::whole(recipe_.data), "--data PATH");
  ledger_ = train::ledger_of_run(fs, folder_, recipe_);
  train::require_data(*dataset_, recipe_, ledger_.header.data);
}

void ReplaySession::with_evaluation(const std::string& features) {
  if (recipe_.evaluation.every > 0)
    comm::in_own_time(group_,
                      [&] { evaluation_.emplace(recipe_, *dataset_, folder_.root, features); });
}

// A rank may find that the newest checkpoint before the target was retired meanwhile, or that its
// copy of the run has none: then all take an earlier one.
Step ReplaySession::restore(Step target) {
  for (;;) {
    const Step mine = restore_own(target);
    bool alike = true;
    for (const auto& theirs : comm::gather(group_, std::vector{mine.value})) {
      alike &= theirs.front() == mine.value;
      target = std::min(target, Step(theirs.front()));
    }
    if (alike) return mine;  // on all ranks, or on none
  }
}

Step ReplaySession::restore_own(Step target) {
  batches_.reset();
  training_.emplace(
      train::make_training(recipe_, dataset_->sample_shape(), {.world = group_.size()}));
  training_->step_plan = plan_;
  std::optional<checkpoint::Loaded> restored;
  comm::in_own_time(group_, [&] {
    restored = train::restore_newest(real_file_system(), folder_, ledger_, target,
                                     train::Damaged::kRefuse, *training_);
  });
  if (!restored && recipe::starts_from_state(recipe_))
    throw Error(Code::kCorrupt,
                (folder_.checkpoints() / checkpoint::file_name(Step(0))).string() +
                    " is missing: the state that this run starts from",
                "restore it from another copy");
  batches_.emplace(*dataset_, recipe_, training_->plan, group_.rank());
  return training_->state.step;
}

ReplaySession::Way ReplaySession::go_before(Step target) {
  if (target.value < 1 || target > last())
    throw Error(Code::kUsage, "cannot compute step " + std::to_string(target.value) +
                                  ": the ledger has steps 1 to " + std::to_string(last().value));
  const Step previous(target.value - 1);
  Way way{.started = restore(previous), .before = {}};
  while (training_->state.step < previous) way.before.push_back(step().entry.before.hex());
  return way;
}

train::StepRecord ReplaySession::step() {
  const auto held_out = [&](Draw first, std::int64_t count) {
    return batches_->held_out(first.value, count);
  };
  return train::step(*training_, group_, std::ref(*batches_), held_out,
                     evaluation_ ? train::Evaluate(std::ref(*evaluation_)) : train::Evaluate());
}

const ledger::Entry& ReplaySession::entry(Step step) const {
  return ledger_.at(step);
}

}  // namespace lockstep::audit
