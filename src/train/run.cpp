#include "lockstep/train/run.h"

#include <utility>

#include "lockstep/checkpoint/store.h"
#include "lockstep/comm/local.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/data/prefetch.h"
#include "lockstep/data/stream.h"
#include "lockstep/numerics/parallel.h"
#include "lockstep/train/sample.h"
#include "lockstep/train/signals.h"
#include "lockstep/train/step.h"
#include "train/batches.h"
#include "train/environment.h"
#include "train/metrics.h"
#include "train/run_folder.h"

namespace lockstep::train {
namespace {

// One attempt: from the newest checkpoint (or the beginning) until the end or a signal.
class Attempt {
 public:
  Attempt(const RunOptions& options, const data::Dataset& dataset, comm::Group& group,
          Training training)
      : recipe_(options.recipe),
        folder_{options.folder},
        group_(group),
        training_(std::move(training)),
        ledger_(fs_, folder_.ledger(), header_of(recipe_, dataset)),
        batches_(dataset, recipe_, training_.plan, group.rank()),
        saver_(fs_, folder_.checkpoints(),
               {recipe_.checkpoint.every, recipe_.checkpoint.keep_last,
                recipe_.checkpoint.keep_every, end()}) {
    restore_newest(fs_, folder_, ledger_.ledger(), Step(INT64_MAX), training_);
    saver_.retire(at());
  }

  RunResult run() {
    RunResult result{.first = at(), .last = {}, .preempted = false, .chain = {}};
    announce();
    if (at() < end()) train();
    result.preempted = stop_requested() && at() < end();
    result.last = at();
    result.chain = ledger_.ledger().chain().hex();
    return result;
  }

 private:
  Step at() const { return training_.state.step; }
  Step end() const { return Step(recipe_.run.steps); }

  void announce() const {
    const auto known = static_cast<std::int64_t>(ledger_.ledger().entries.size());
    if (at() >= end()) return log::info("all " + std::to_string(end().value) + " steps are done");
    if (at().value > 0 || known > 0) {
      log::info("continuing at step " + std::to_string(at().value) +
                (known > at().value
                     ? "; steps up to " + std::to_string(known) + " are recomputed and compared"
                     : ""));
    }
  }

  void train() {
    Metrics metrics(fs_, folder_, at(), end());
    bool saved = true;
    while (at() < end() && !stop_requested()) {
      const StepRecord record = step(training_, group_, batches_.at(training_.state.samples));
      note(record);
      metrics.record(record);
      const bool last = at() == end();
      if (last || due(recipe_.samples.every)) write_sample();
      saved = last || due(recipe_.checkpoint.every);
      if (saved) save();
    }
    if (!saved) save();
    saver_.wait();
    ledger_.sync();
  }

  // The ledger's line; a step that an earlier attempt did already must come out the same.
  void note(const StepRecord& record) {
    const auto difference = ledger_.record(record.entry);
    if (!difference) return;
    throw Error(Code::kDiffer,
                "step " + std::to_string(difference->step.value) + ": recomputed, its " +
                    difference->what + " is not what " + folder_.ledger().string() + " says",
                "the machine, the program or the data changed since; `lockstep verify` checks what "
                "is saved");
  }

  bool due(std::int64_t every) const { return every > 0 && at().value % every == 0; }

  void write_sample() {
    if (recipe_.samples.count == 0) return;
    make_folder(fs_, folder_.samples());
    publish(fs_, folder_.sample(at()),
            picture(training_, training_.agreed->root, 0, recipe_.samples.count,
                    recipe_.samples.columns));
    log::info("wrote " + folder_.sample(at()).string());
  }

  // The ledger is durable before any checkpoint that refers to it.
  void save() {
    ledger_.sync();
    saver_.save(meta_of(training_, ledger_.ledger()), training_.state);
  }

  FileSystem& fs_ = real_file_system();
  const recipe::Recipe recipe_;
  const RunFolder folder_;
  comm::Group& group_;
  Training training_;
  ledger::Writer ledger_;
  Batches batches_;
  checkpoint::Saver saver_;
};

}  // namespace

RunResult run(const RunOptions& options) {
  const std::unique_ptr<data::Dataset> dataset = data::open(options.recipe.data);
  const RunFolder folder{options.folder};
  FileSystem& fs = real_file_system();
  RunResult result;
  comm::run_local(1, [&](comm::Group& group) {
    numerics::set_threads(options.threads);
    // First: a recipe that does not fit its data or itself leaves no folder behind.
    Training training = make_training(options.recipe, dataset->sample_shape(), group.size());
    make_folders(fs, folder.root);
    const FolderLock lock(folder);
    sweep(fs, folder);
    adopt_recipe(fs, folder, options.recipe, *dataset);
    log::open_file(folder.log());
    write_environment(fs, folder, group.rank());
    result = Attempt(options, *dataset, group, std::move(training)).run();
  });
  log::close_file();
  return result;
}

}  // namespace lockstep::train
