#include "lockstep/train/open_run.h"

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "train/divided_state.h"

namespace lockstep::train {

namespace stdfs = std::filesystem;

void require_of_recipe(const RunFolder& folder, const ledger::Ledger& ledger,
                       const recipe::Recipe& recipe) {
  if (const auto what = mismatch(ledger, recipe))
    throw Error(Code::kCorrupt,
                folder.ledger().string() + " does not follow from recipe.toml: " + *what,
                "the evidence is damaged; restore the file from another copy");
}

ledger::Ledger ledger_of_run(FileSystem& fs, const RunFolder& folder,
                             const recipe::Recipe& recipe) {
  require_ledger(fs, folder, "restore it from a copy");
  ledger::Ledger ledger = ledger::read(fs, folder.ledger(), ledger::TornTail::kDrop);
  if (ledger.header != header_of(recipe, ledger.header.data))
    throw Error(Code::kCorrupt, folder.ledger().string() + " is not of the recipe beside it");
  require_of_recipe(folder, ledger, recipe);
  return ledger;
}

checkpoint::Meta meta_of(const Training& training, const ledger::Header& header,
                         const hash::Digest& chain) {
  LOCKSTEP_ASSERT(training.agreed);
  return {.recipe = header.recipe,
          .data = header.data,
          .semantics = header.semantics,
          .chain = chain,
          .state = training.agreed->root,
          .sample_shape = training.sample_shape,
          .recipe_text = recipe::canonical_bits(training.recipe)};
}

namespace {

// Checks that the checkpoint is this run's: of the step in its name, with the state that the ledger
// has there. Returns its digest.
state::StateDigest require_of_run(const stdfs::path& file, Step step,
                                  const checkpoint::Loaded& loaded, const RunFolder& folder,
                                  const Measure& measure) {
  const checkpoint::Meta& meta = loaded.meta();
  const ledger::Ledger& ledger = measure.ledger;
  const char* hint = "remove it from this run's folder";
  if (meta.recipe != ledger.header.recipe)
    throw Error(
        Code::kUsage,
        file.string() + " is a checkpoint of another recipe: " +
            recipe::first_difference(recipe::canonical_bits(measure.recipe), meta.recipe_text),
        hint);
  if (meta.data != ledger.header.data)
    throw Error(Code::kData,
                file.string() + " is a checkpoint of a run on other data: its hash is " +
                    meta.data.brief() + ", the ledger says " + ledger.header.data.brief(),
                hint);
  if (const auto what = mismatch(meta, measure.recipe, ledger.header, measure.shape))
    throw Error(Code::kCorrupt, file.string() + ": " + *what, hint);
  if (loaded.state().step != step)
    throw Error(Code::kCorrupt,
                file.string() + " is the checkpoint of step " +
                    std::to_string(loaded.state().step.value) + ", under another step's name",
                hint);
  const std::string n = std::to_string(step.value);
  if (step > ledger.last())
    throw Error(Code::kCorrupt,
                folder.ledger().string() + " ends at step " + std::to_string(ledger.last().value) +
                    ", but there is a checkpoint of step " + n,
                "the ledger was cut; restore it from a copy");
  if (meta.chain != ledger.chain(step))
    throw Error(
        Code::kCorrupt,
        file.string() + " does not belong to this ledger: the chains at step " + n + " differ");
  state::StateDigest digest = state::digest(loaded.state());
  if (step == Step(0)) {
    if (const auto what = not_the_start(loaded, measure.recipe))
      throw Error(Code::kCorrupt, file.string() + ": " + *what, hint);
    return digest;
  }
  const ledger::Entry& entry = ledger.at(step);
  if (digest.root != entry.state ||
      (entry.commit && state::commit(loaded.state()) != *entry.commit))
    throw Error(Code::kCorrupt,
                file.string() + ": its state is not the one that the ledger has at step " + n,
                hint);
  return digest;
}

}  // namespace

checkpoint::Loaded load_of_run(FileSystem& fs, const RunFolder& folder, Step step,
                               const Measure& measure) {
  const stdfs::path file = folder.checkpoints() / checkpoint::file_name(step);
  checkpoint::Loaded loaded = checkpoint::load(fs, file);
  require_of_run(file, step, loaded, folder, measure);
  return loaded;
}

SavedState parse_saved_state(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (text.empty() || at == 0)
    throw Error(Code::kUsage, "'" + text + "' names no run", "for example runs/a@500");
  if (at == std::string::npos) return {text, std::nullopt};
  const auto step = parse_int(std::string_view(text).substr(at + 1));
  const bool of_a_run = step && stdfs::exists(RunFolder{text.substr(0, at)}.recipe());
  if (!of_a_run && stdfs::exists(text)) return {text, std::nullopt};  // a folder's own name
  if (!step || *step < 0)
    throw Error(Code::kUsage, "'" + text + "': after '@' comes the number of a step",
                "for example runs/a@500");
  return {text.substr(0, at), Step(*step)};
}

std::optional<SavedState> state_of_step(const std::string& source) {
  if (stdfs::exists(source) || source.find('@') == std::string::npos) return std::nullopt;
  return parse_saved_state(source);
}

namespace {

// Of those that are there.
Step step_of(const std::vector<Step>& steps, const SavedState& saved) {
  if (steps.empty())
    throw Error(
        Code::kUsage,
        saved.folder.string() + " has no checkpoint: none was due yet, or they were removed",
        "`lockstep train " + saved.folder.string() +
            "` goes on and makes what is due, up to run.steps");
  const Step step = saved.step.value_or(steps.back());
  if (std::ranges::binary_search(steps, step)) return step;
  throw Error(Code::kUsage,
              saved.folder.string() + " has no checkpoint of step " + std::to_string(step.value),
              "there are those of steps " +
                  joined(steps, ", ", [](Step one) { return std::to_string(one.value); }));
}

}  // namespace

stdfs::path file_of(const std::string& source) {
  const auto saved = state_of_step(source);
  if (!saved) return source;
  const stdfs::path folder = RunFolder{saved->folder}.checkpoints();
  return folder /
         checkpoint::file_name(step_of(checkpoint::list(real_file_system(), folder), *saved));
}

OpenedRun open_run(FileSystem& fs, const SavedState& saved) {
  constexpr int kTries = 20;
  const RunFolder folder{saved.folder};
  recipe::Recipe recipe = recipe::of_run(fs, folder.root);
  for (int tries = 0; tries < kTries; ++tries) {
    const Step step = step_of(checkpoint::list(fs, folder.checkpoints()), saved);
    const stdfs::path file = folder.checkpoints() / checkpoint::file_name(step);
    std::optional<checkpoint::Loaded> loaded = checkpoint::load_if_there(fs, file);
    if (!loaded) continue;
    // Read after the checkpoint: so the ledger has all its steps.
    ledger::Ledger ledger = ledger_of_run(fs, folder, recipe);
    require_of_run(file, step, *loaded, folder,
                   {recipe, ledger, shape_at_hand(recipe, ledger.header.data)});
    return {std::move(recipe), std::move(ledger), step, *std::move(loaded)};
  }
  throw Error(
      Code::kEnvironment,
      folder.checkpoints().string() + ": checkpoints are retired faster than they can be opened",
      "try again, or let the run keep more of them (checkpoint.keep_last)");
}

std::optional<checkpoint::Loaded> restore_newest(FileSystem& fs, const RunFolder& folder,
                                                 const ledger::Ledger& ledger, Step limit,
                                                 Damaged damaged, Training& training) {
  const std::vector<Step> steps = checkpoint::list(fs, folder.checkpoints());
  const Measure measure{training.recipe, ledger, training.sample_shape};
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (*step > limit) continue;
    const stdfs::path file = folder.checkpoints() / checkpoint::file_name(*step);
    std::optional<checkpoint::Loaded> loaded;
    try {
      loaded = checkpoint::load_if_there(fs, file);
      if (!loaded) continue;  // a run that trains meanwhile retired it
    } catch (const Error& failure) {
      if (failure.code() != Code::kCorrupt) throw;
      if (damaged == Damaged::kRefuse)
        throw Error(failure.code(), failure.message(),
                    "restore it from another copy; or remove it with its .sha256: then steps are "
                    "computed from the one before");
      log::warn(std::string(failure.what()) + "; trying the one before");
      continue;
    }
    const state::StateDigest whole = require_of_run(file, *step, *loaded, folder, measure);
    loaded->restore(training.state);
    training.agreed = state::digest(training.state, whole_leaves(training.state, whole.leaves));
    if (training.agreed->root != loaded->meta().state)
      throw Error(Code::kDiffer,
                  file.string() + ": the restored state is not the one that was saved");
    return loaded;
  }
  return std::nullopt;
}

}  // namespace lockstep::train
