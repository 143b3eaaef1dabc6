#include "lockstep/train/run.h"

#include <functional>
#include <optional>

#include "lockstep/comm/queue.h"
#include "lockstep/core/log.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/numerics/parallel.h"
#include "lockstep/train/signals.h"
#include "lockstep/train/step.h"
#include "train/batches.h"
#include "train/run_writer.h"
#include "train/share.h"
#include "train/watch.h"

namespace lockstep::train {

namespace {

RunResult train_all(const RunOptions& options, comm::Group& group) {
  numerics::set_threads(options.threads);
  const std::unique_ptr<data::Dataset> dataset = data::open(options.recipe.data);
  require_same(group, Code::kData, "the hash of the data", dataset->hash().hex());
  // First: a recipe that does not fit its data or itself leaves no folder behind.
  Training training = make_training(options.recipe, dataset->sample_shape(), group.size());
  std::optional<RunWriter> writer;
  if (group.rank() == Rank(0)) writer.emplace(options, *dataset, training);
  share_state(group, training);
  const auto fingerprints = gather_texts(group, fingerprint::to_json(fingerprint::take()));
  if (writer) {
    writer->environments(fingerprints);
    writer->announce();
  }

  const Step end(options.recipe.run.steps), first = training.state.step;
  RunResult result{.first = first, .last = {}, .preempted = false, .chain = {}};
  Batches batches(*dataset, options.recipe, training.plan, group.rank());
  Watch watch(options.recipe.monitor);
  while (training.state.step < end) {
    result.preempted = anyone(group, stop_requested());
    if (result.preempted) break;
    const StepRecord record = step(training, group, std::ref(batches));
    const monitor::Report report = watch.after(record, training, group);
    if (writer) writer->note(record, report);
    if (report.verdict == monitor::Verdict::kStop) {
      if (writer) writer->abandon();
      group.barrier();  // nobody leaves before all is saved
      stop(report);
    }
  }
  if (writer) {
    writer->finish();
    result.chain = writer->chain().hex();
  }
  group.barrier();  // nobody leaves before all is saved
  result.last = training.state.step;
  log::close_file();
  return result;
}

}  // namespace

RunResult run(const RunOptions& options, comm::Group& group) {
  std::optional<comm::Queue> queue;
  if (group.size() > 1) queue.emplace(group);
  try {
    return train_all(options, queue ? *queue : group);
  } catch (const Error& error) {
    group.abort(error);  // the others hear why
    throw;
  } catch (const std::exception& error) {
    group.abort({Code::kBug, error.what()});
    throw;
  }
}

}  // namespace lockstep::train
