#include "lockstep/train/sample.h"

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/output_file.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/numerics/parallel.h"
#include "lockstep/recipe/canonical.h"
#include "train/claims.h"
#include "train/run_folder.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

struct Source {
  recipe::Recipe recipe;
  checkpoint::Loaded loaded;
};

// A run's newest checkpoint, which is that run's in everything it says.
Source newest_of(FileSystem& fs, const RunFolder& folder) {
  const std::vector<Step> steps = checkpoint::list(fs, folder.checkpoints());
  if (steps.empty())
    throw Error(Code::kUsage, folder.root.string() + " has no checkpoint yet",
                "give a run folder or a step-NNNNNNNN.h5");
  recipe::Recipe recipe = recipe::of_run(fs, folder.root);
  const ledger::Ledger ledger = ledger_of_run(fs, folder, recipe);
  const Measure measure{recipe, ledger, shape_at_hand(recipe, ledger.header.data)};
  checkpoint::Loaded loaded = load_of_run(fs, folder, steps.back(), measure);
  return {std::move(recipe), std::move(loaded)};
}

// A checkpoint alone: what it says must fit its own recipe.
Source alone(FileSystem& fs, const stdfs::path& file) {
  checkpoint::Loaded loaded = checkpoint::load(fs, file);
  recipe::Recipe recipe = recipe_in(loaded.meta(), file.string());
  const hash::Digest& data = loaded.meta().data;
  if (const auto what = misfit(loaded.meta(), recipe, header_of(recipe, data),
                               shape_at_hand(recipe, data)))
    throw Error(Code::kCorrupt, file.string() + ": " + *what);
  return {std::move(recipe), std::move(loaded)};
}

}  // namespace

SampleResult sample(const SampleOptions& options) {
  FileSystem& fs = real_file_system();
  require_output(options.out, {"a picture", ".png"});
  numerics::set_threads(options.threads);
  const auto [recipe, loaded] = stdfs::is_directory(options.source)
                                    ? newest_of(fs, {options.source})
                                    : alone(fs, options.source);
  Training training = make_training(recipe, loaded.meta().sample_shape, {.world = 1});
  loaded.restore(training.state);
  const Bytes png =
      picture(training, loaded.meta().state, options.first, options.count, options.columns);
  publish(fs, options.out, png);
  return {training.state.step, hash::sha256(png).hex()};
}

}  // namespace lockstep::train
