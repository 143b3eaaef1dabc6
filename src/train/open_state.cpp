#include "open_state.h"

#include "lockstep/core/error.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/open_run.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

OpenedState of_run(FileSystem& fs, const SavedState& saved) {
  OpenedRun run = open_run(fs, saved);
  return {std::move(run.recipe), std::move(run.loaded)};
}

OpenedState alone(FileSystem& fs, const stdfs::path& file) {
  checkpoint::Loaded loaded = checkpoint::load(fs, file);
  recipe::Recipe recipe = recipe_in(loaded.meta(), file.string());
  const hash::Digest& data = loaded.meta().data;
  if (const auto what =
          mismatch(loaded.meta(), recipe, header_of(recipe, data), shape_at_hand(recipe, data)))
    throw Error(Code::kCorrupt, file.string() + ": " + *what);
  if (state::digest(loaded.state()).root != loaded.meta().state)
    throw Error(Code::kCorrupt, file.string() + ": its tensors are not the state that it names");
  return {std::move(recipe), std::move(loaded)};
}

}  // namespace

OpenedState open_state(FileSystem& fs, const std::string& source) {
  if (stdfs::is_directory(source)) return of_run(fs, {source, {}});
  const auto saved = state_of_step(source);
  return saved ? of_run(fs, *saved) : alone(fs, source);
}

}  // namespace lockstep::train
