#include "lockstep/train/replay.h"

#include "lockstep/comm/local.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/numerics/parallel.h"
#include "lockstep/train/step.h"
#include "train/batches.h"
#include "train/run_folder.h"

namespace lockstep::train {
namespace {

void check_window(const ReplayOptions& options, const ledger::Ledger& ledger, Step to) {
  const auto last = static_cast<std::int64_t>(ledger.entries.size());
  if (options.from.value < 1 || to < options.from || to.value > last) {
    throw Error(Code::kUsage, "cannot replay steps " + std::to_string(options.from.value) + " to " +
                                  std::to_string(to.value) + ": the ledger has steps 1 to " +
                                  std::to_string(last));
  }
}

ReplayResult replay_window(const ReplayOptions& options, const RunFolder& folder,
                           comm::Group& group) {
  FileSystem& fs = real_file_system();
  recipe::Recipe recipe = read_recipe(fs, folder);
  if (options.data) recipe.data.path = *options.data;
  const std::unique_ptr<data::Dataset> dataset = data::open(recipe.data);
  const ledger::Ledger ledger = ledger::read(fs, folder.ledger(), ledger::TornTail::kDrop);
  const ledger::Header expected = header_of(recipe, *dataset);
  if (ledger.header.recipe != expected.recipe)
    throw Error(Code::kCorrupt, folder.ledger().string() + " is not of the recipe beside it");
  if (ledger.header.data != expected.data) {
    throw Error(Code::kData,
                "the data set is not the run's: its hash is " + expected.data.hex().substr(0, 12) +
                    ", the ledger says " + ledger.header.data.hex().substr(0, 12),
                "give the run's data with --data");
  }
  const Step to = options.to.value_or(Step(static_cast<std::int64_t>(ledger.entries.size())));
  check_window(options, ledger, to);

  Training training = make_training(recipe, dataset->sample_shape(), {.world = group.size()});
  restore_newest(fs, folder, ledger, Step(options.from.value - 1), training);
  ReplayResult result{
      .started = training.state.step, .from = options.from, .to = to, .differs = {}, .what = {}};
  Batches batches(*dataset, recipe, training.plan, group.rank());
  while (training.state.step < to) {
    const StepRecord record = step(training, group, std::ref(batches));
    const ledger::Entry& said =
        ledger.entries[static_cast<std::size_t>(record.entry.step.value) - 1];
    if (const auto difference = ledger::difference(said, record.entry)) {
      result.differs = record.entry.step;
      result.what = *difference;
      return result;
    }
    log::info("step " + std::to_string(record.entry.step.value) + "/" + std::to_string(to.value) +
              " agrees with the ledger");
  }
  return result;
}

}  // namespace

ReplayResult replay(const ReplayOptions& options) {
  ReplayResult result;
  comm::run_local(1, [&](comm::Group& group) {
    numerics::set_threads(options.threads);
    result = replay_window(options, RunFolder{options.folder}, group);
  });
  return result;
}

}  // namespace lockstep::train
