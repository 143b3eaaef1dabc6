#include "lockstep/train/run.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "lockstep/checkpoint/store.h"
#include "lockstep/comm/gather.h"
#include "lockstep/comm/own_time.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/log.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/fingerprint/settings.h"
#include "lockstep/ops/memory.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/numerics.h"
#include "lockstep/train/out_of_memory.h"
#include "lockstep/train/picture.h"
#include "lockstep/train/signals.h"
#include "lockstep/train/step.h"
#include "train/collectives.h"
#include "train/divided_state.h"
#include "train/pace.h"
#include "train/run_writer.h"
#include "train/same_data.h"
#include "train/state_broadcast.h"
#include "train/watch.h"

namespace lockstep::train {

namespace {

bool checkpoint_due(const recipe::Recipe& recipe, Step step) {
  return step.value == recipe.run.steps || due(step, recipe.checkpoint.every);
}

// What is being thrown.
Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    // The plan of a step's memory does not foresee all: of native numerics it is our kernels'.
    return out_of_memory(ops::on_gpu(),
                         "lower --lanes-at-once, batch.samples_per_lane or the model's size");
  } catch (const std::exception& error) {
    return {Code::kBug, error.what()};
  }
}

// The newest step of which this rank sees a checkpoint of this run; -1: none.
std::int64_t newest_here(const RunOptions& options) {
  try {
    FileSystem& fs = real_file_system();
    const RunFolder folder{options.folder};
    if (!fs.exists(folder.recipe()) ||
        recipe::id(recipe::of_run(fs, folder.root)) != recipe::id(options.recipe))
      return -1;
    const std::vector<Step> steps = checkpoint::list(fs, folder.checkpoints());
    return steps.empty() ? -1 : steps.back().value;
  } catch (const Error&) {  // whatever it is, it is not what this run goes on with
    return -1;
  }
}

// Rank 0 goes on from what its folder has. Where folders are not shared and ranks have moved,
// another rank may have a later state, and nobody would see what is lost. Collective: yes.
std::optional<std::string> further_elsewhere(const RunOptions& options, const Training& training,
                                             comm::Group& group) {
  if (group.size() == 1) return std::nullopt;
  std::int64_t mine = -1;
  comm::in_own_time(group, [&] { mine = newest_here(options); });
  const auto all = comm::gather(group, std::vector{mine});
  const auto most = std::ranges::max_element(all);
  const std::int64_t own = all[0][0];  // rank 0's newest, which may be damaged and passed over
  if (most->front() <= std::max(own, training.state.step.value)) return std::nullopt;
  return "rank " + std::to_string(most - all.begin()) + " sees a checkpoint of step " +
         std::to_string(most->front()) + " of this run, and rank 0 goes on from step " +
         std::to_string(training.state.step.value) +
         ": if they share no folder, start rank 0 where the run was";
}

// What a run has before its first step. Collective: yes.
struct Prepared {
  Prepared(const RunOptions& options, comm::Group& group);
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  std::unique_ptr<data::Dataset> dataset;
  std::optional<IntervalEvaluation> evaluation;
  std::optional<Training> training;
  std::optional<RunWriter> writer;  // on rank 0
};

Prepared::Prepared(const RunOptions& options, comm::Group& group) {
  comm::in_own_time(group, [&] {
    dataset = open_data(real_file_system(), {options.folder}, options.recipe.data,
                        "--set data.path=PATH");
  });
  require_same_data(group, *dataset);
  // First: a recipe that does not fit itself or its data leaves no folder behind.
  require_pictures_fit(options.recipe, dataset->sample_shape());
  if (options.recipe.evaluation.every > 0)
    comm::in_own_time(group, [&] { evaluation.emplace(options.recipe, *dataset, options.folder); });
  if (recipe::is_native(options.recipe))
    fingerprint::require_native_settings(precision_of(options.recipe));
  // Before memory is planned: LibTorch's libraries take a GPU's for the kernels that are tried.
  const fingerprint::Fingerprint mine =
      options.fingerprint.empty() ? fingerprint_for(options.recipe) : options.fingerprint;
  fingerprint::require_native(mine);
  Ranks ranks{.world = group.size()};
  if (options.shard == Shard::kOptimizer) ranks.keeps = group.rank();
  const StepPlan plan = plan_step(options.recipe, dataset->sample_shape(), ranks, group,
                                  options.lanes_at_once, options.processes);
  training = make_training(options.recipe, dataset->sample_shape(), ranks);
  training->step_plan = plan;
  comm::in_own_time(group, [&] {
    if (group.rank() != Rank(0)) return;
    writer.emplace(options, *dataset, *training);
    if (evaluation) evaluation->keep();
  });
  broadcast_state(group, writer ? writer->restored() : nullptr, *training);
  if (writer) writer->forget_restored();
  if (const auto further = further_elsewhere(options, *training, group); further && writer)
    log::warn(*further);
  const auto fingerprints = comm::gather_texts(group, fingerprint::to_json(mine));
  comm::in_own_time(group, [&] {
    if (writer) writer->environments(fingerprints);
  });
  if (writer) writer->announce();
}

// `stopped`: why, if a monitor stopped the run; the same on all ranks.
RunResult train_all(const RunOptions& options, comm::Group& group, const comm::Queue* queue,
                    std::optional<Error>& stopped) {
  Prepared prepared(options, group);
  Training& training = *prepared.training;
  std::optional<RunWriter>& writer = prepared.writer;
  const Step end(options.recipe.run.steps), first = training.state.step;
  RunResult result{.first = first, .last = {}, .preempted = false, .chain = {}};
  Batches batches(*prepared.dataset, options.recipe, training.plan, group.rank());
  const Feed held_out = [&](Draw draw, std::int64_t count) {
    return batches.held_out(draw.value, count);
  };
  const Evaluate evaluate =
      prepared.evaluation ? Evaluate(std::ref(*prepared.evaluation)) : Evaluate();
  Watch watch(options.recipe.monitor);
  Step saved = first;
  const auto save = [&](checkpoint::Reason reason) {
    if (const auto whole = whole_state(group, training.state); whole && writer)
      writer->save(*whole, reason);
    saved = training.state.step;
  };
  // Between two steps ranks are lost, too: the error names the one that comes next.
  const auto before_step = [](Step next, const auto& part) {
    try {
      return part();
    } catch (const Error& error) {
      throw error.within("step " + std::to_string(next.value));
    }
  };
  Pace pace(training.plan, queue);
  if (writer) writer->show_pace(pace, group);
  try {
    for (;;) {
      const bool samples_left = writer && writer->leaves_samples();
      const bool done = training.state.step >= end;
      const Pace::Wishes wishes = before_step(std::min(training.state.step + 1, end),
                                              [&] { return pace.agree(group, samples_left); });
      result.preempted = done ? wishes.left : wishes.stop;
      if (result.preempted && writer) log::info("stopped by a signal: saving, then ending");
      if (result.preempted || done) break;
      const Look look = watch.look_at(training.state.step + 1);
      const StepRecord record = pace.timed(
          [&] { return step(training, group, std::ref(batches), held_out, evaluate, look); });
      const monitor::Report report = watch.after(record, training, group);
      if (writer) writer->note(record, report);
      if (report.verdict == monitor::Verdict::kStop) {
        stopped = stopped_by(report, saved);
        break;
      }
      // Here, and not between agree and a step: a rank that saves for long keeps busy while the
      // others wait in agree.
      if (checkpoint_due(options.recipe, training.state.step)) save(checkpoint::Reason::kDue);
      // A signal ends an evaluation, and nothing of its step is kept then.
      else if (evaluate && due(training.state.step + 1, options.recipe.evaluation.every))
        save(checkpoint::Reason::kInterim);
    }
    // If a monitor stopped the run, it goes on from before, with another recipe.
    if (!stopped && saved != training.state.step) save(checkpoint::Reason::kInterim);
    if (writer) {
      writer->finish();
      result.chain = writer->chain(training.state.step).hex();
    }
  } catch (...) {
    const Error error = current_error();
    group.abort(error);  // first: the writer waits for its checkpoint, the others need not
    if (writer) writer->note_stop(error.code() == Code::kPreempted ? "signal" : "error", error);
    throw;
  }
  if (writer && stopped) writer->note_stop("monitor", *stopped);
  if (writer && result.preempted) writer->note_stop("signal", {Code::kPreempted, "a signal"});
  pace.agree(group, false);  // nobody leaves before all is saved
  result.last = training.state.step;
  return result;
}

}  // namespace

RunResult run(const RunOptions& options, comm::Group& group) {
  std::optional<comm::Queue> queue;
  if (group.size() > 1) queue.emplace(group);
  std::optional<Error> stopped;
  RunResult result;
  try {
    result = train_all(options, queue ? *queue : group, queue ? &*queue : nullptr, stopped);
  } catch (...) {
    const Error error = current_error();
    group.abort(error);  // the others hear why
    if (error.code() == Code::kBug) throw;
    throw error;
  }
  // Every rank finds this by itself: nobody needs to be told.
  if (stopped) {
    comm::await_all(group);
    throw *stopped;
  }
  if (group.rank() == Rank(0)) log::close_file();
  return result;
}

}  // namespace lockstep::train
