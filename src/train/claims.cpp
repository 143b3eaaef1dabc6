#include "lockstep/train/claims.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/core/other_semantics.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/semantics.h"
#include "lockstep/train/initial_state.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/training.h"

namespace lockstep::train {
ledger::Header header_of(const recipe::Recipe& recipe, const hash::Digest& data) {
  ledger::Header header{
      .recipe = recipe::id(recipe), .data = data, .semantics = recipe::kSemantics};
  if (recipe::has_parent(recipe)) {
    const recipe::From& from = recipe.run.from;
    header.from = {.recipe = hash::Digest::from_hex(from.recipe),
                   .step = Step(from.step),
                   .state = hash::Digest::from_hex(from.state)};
  }
  ledger::format_header(header);
  return header;
}

void require_data(const data::Dataset& dataset, const recipe::Recipe& recipe,
                  const hash::Digest& data) {
  if (dataset.hash() == data) return;
  // The images' file, and that of labels: either may be another one.
  const std::string names = joined(data::files(recipe.data), " with ");
  throw Error(Code::kData,
              "the data set " + (names.empty() ? recipe.data.kind.word() : names) +
                  " is not the run's: its hash is " + dataset.hash().brief() +
                  ", the ledger says " + data.brief(),
              "give the run's data with --data PATH; `lockstep inspect` shows a pack's hash");
}

Shape shape_of_data(const recipe::Recipe& recipe, const hash::Digest& data) {
  const auto dataset = data::open(data::whole(recipe.data));
  require_data(*dataset, recipe, data);
  return dataset->sample_shape();
}

std::optional<Shape> shape_at_hand(const recipe::Recipe& recipe, const hash::Digest& data) {
  try {
    return shape_of_data(recipe, data);
  } catch (const Error&) {  // not here, or cannot be opened
    return std::nullopt;
  }
}

recipe::Recipe recipe_in(const checkpoint::Meta& meta, const std::string& name) {
  if (meta.semantics != recipe::kSemantics)
    throw of_other_semantics(name, std::to_string(meta.semantics), recipe::kSemantics);
  recipe::Recipe recipe = recipe::parse_bits(meta.recipe_text, name + ": /recipe");
  if (recipe::id(recipe) != meta.recipe)
    throw Error(Code::kCorrupt, name + ": its recipe's text does not have the id that it names");
  return recipe;
}

std::optional<std::string> semantics_mismatch(const checkpoint::Meta& meta,
                                              const ledger::Header& header) {
  if (meta.semantics == header.semantics) return std::nullopt;
  return "it names semantics " + std::to_string(meta.semantics) + ", its ledger " +
         std::to_string(header.semantics);
}

std::optional<std::string> mismatch(const checkpoint::Meta& meta, const recipe::Recipe& recipe,
                                    const ledger::Header& header,
                                    const std::optional<Shape>& shape) {
  if (const auto what = semantics_mismatch(meta, header)) return what;
  if (meta.recipe_text != recipe::canonical_bits(recipe))
    return "its recipe's text is not the run's";
  if (shape && meta.sample_shape != *shape)
    return "it says that samples are " + shape_text(meta.sample_shape) +
           ", and those of the data are " + shape_text(*shape);
  return std::nullopt;
}

std::optional<std::string> mismatch(const ledger::Ledger& ledger, const recipe::Recipe& recipe) {
  const std::int64_t batch = recipe.batch.batch(), every = recipe.evidence.commit_every;
  const std::vector<std::string> no_keys;
  // Another run's state brings its own count.
  std::int64_t samples = 0;
  if (recipe::has_parent(recipe) && !ledger.entries.empty())
    samples = std::max<std::int64_t>(0, ledger.entries.front().samples - batch);
  for (const ledger::Entry& entry : ledger.entries) {
    const std::string step = "step " + std::to_string(entry.step.value) + ": ";
    samples += batch;
    if (entry.samples != samples)
      return step + "it says " + counted(entry.samples, "sample") + ", the recipe makes it " +
             std::to_string(samples);
    const bool same_phases =
        std::ranges::equal(entry.losses, recipe::phases(recipe, entry.step), {},
                           &std::pair<std::string, float>::first, &objective::PhaseNames::name);
    if (!same_phases) return step + "its losses are not those of the recipe's phases";
    const std::int64_t validated = recipe.run.validate_every;
    if (const bool measured = due(entry.step, validated); measured != entry.validation.has_value())
      return step +
             (measured ? "it has no loss on held-out samples"
                       : "it has a loss on held-out samples") +
             ", the recipe wants one every " + counted(validated, "step");
    if (const bool evaluated = due(entry.step, recipe.evaluation.every);
        !std::ranges::equal(entry.evaluation, evaluated ? evaluation_keys() : no_keys, {},
                            &std::pair<std::string, double>::first))
      return step +
             (evaluated ? "its distances of samples are not those of an evaluation"
                        : "it has distances of samples") +
             ", the recipe wants them every " + counted(recipe.evaluation.every, "step");
    const bool committed = due(entry.step, every);
    if (committed != entry.commit.has_value())
      return step + (committed ? "it has no commit" : "it has a commit") +
             ", the recipe wants one every " + counted(every, "step");
  }
  return std::nullopt;
}

hash::Digest start_of(const recipe::Recipe& recipe, const Shape& shape) {
  if (recipe::starts_from_state(recipe)) return hash::Digest::from_hex(recipe.run.from.state);
  return state::commit(make_training(recipe, shape, {.world = 1}).state);
}

hash::Digest digest_of_start(const recipe::Recipe& recipe, const Shape& shape) {
  return state::digest(make_training(recipe, shape, {.world = 1}).state).root;
}

std::optional<std::string> not_the_start(const checkpoint::Loaded& loaded,
                                         const recipe::Recipe& recipe) {
  for (const recipe::NetworkOptions& one : recipe.networks)
    if (recipe::is_frozen(one) && root_of(loaded.state(), one.role).hex() != one.root)
      return "its " + one.role + " is not the frozen one that the recipe names";
  try {
    if (state::commit(loaded.state()) == start_of(recipe, loaded.meta().sample_shape))
      return std::nullopt;
  } catch (const Error& error) {  // no network has samples of that shape
    if (error.code() != Code::kUsage) throw;
  }
  return recipe::starts_from_state(recipe) ? "its state is not the one that the recipe starts from"
                                           : "its state is not the one that recipe and seed make";
}

}  // namespace lockstep::train
