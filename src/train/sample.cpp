#include "lockstep/train/sample.h"

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/output_file.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/numerics/parallel.h"
#include "lockstep/recipe/canonical.h"
#include "train/run_folder.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

stdfs::path newest_checkpoint(FileSystem& fs, const stdfs::path& source) {
  if (!stdfs::is_directory(source)) return source;
  const RunFolder folder{source};
  const std::vector<Step> steps = checkpoint::list(fs, folder.checkpoints());
  if (steps.empty())
    throw Error(Code::kUsage, source.string() + " has no checkpoint yet",
                "give a run folder or a step-NNNNNNNN.h5");
  return folder.checkpoints() / checkpoint::file_name(steps.back());
}

}  // namespace

SampleResult sample(const SampleOptions& options) {
  FileSystem& fs = real_file_system();
  require_output(options.out, {"a picture", ".png"});
  numerics::set_threads(options.threads);
  const stdfs::path file = newest_checkpoint(fs, options.source);
  const checkpoint::Loaded loaded = checkpoint::load(fs, file);
  const recipe::Recipe recipe =
      recipe::parse_bits(loaded.meta().recipe_text, file.string() + ": /recipe");
  Training training = make_training(recipe, loaded.meta().sample_shape, {.world = 1});
  loaded.restore(training.state);
  const Bytes png =
      picture(training, loaded.meta().state, options.first, options.count, options.columns);
  publish(fs, options.out, png);
  return {training.state.step, hash::sha256(png).hex()};
}

}  // namespace lockstep::train
