#include "lockstep/recipe/recipe.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/data/grid.h"

namespace lockstep::recipe {
namespace {

constexpr std::int64_t kMaxSteps = 1'000'000'000'000;
constexpr std::int64_t kMostEvaluated = std::int64_t{1} << 24;

std::vector<NetworkOptions> for_roles(const std::vector<NetworkOptions>& networks,
                                      const std::vector<std::string>& roles) {
  std::vector<NetworkOptions> result;
  for (const std::string& role : roles) {
    const auto found = std::find_if(networks.begin(), networks.end(),
                                    [&](const NetworkOptions& n) { return n.role == role; });
    result.push_back(found != networks.end() ? *found : NetworkOptions{role, {}});
  }
  return result;
}

}  // namespace

void describe(Fields& f, Run& o) {
  f.field("name", o.name, Effect::kNone, "names the run's folder; letters, digits, '.', '_', '-'");
  f.field("seed", o.seed, 0, INT64_MAX, Effect::kBits, "key of every random stream");
  f.field("steps", o.steps, 0, kMaxSteps, Effect::kNone, "updates to train");
  f.field("validate_every", o.validate_every, 0, kMaxSteps,
          bits_unless(o.validate_every, std::int64_t{0}),
          "steps between losses on the samples of data.holdout, by the averaged weights where "
          "there are some, which the ledger records; 0: none; diffusion only");
  f.choice(
      "numerics", o.numerics, {"portable", "native"}, bits_unless(o.numerics, "portable"),
      "our kernels, the same bits everywhere, or for products LibTorch's, of this hardware and "
      "software");
  f.choice("precision", o.precision, {"float32", "tf32", "bfloat16"},
           bits_unless(o.precision, "float32"),
           "of products in native numerics: binary32; tf32, on a GPU alone (on a CPU binary32); or "
           "operands and results rounded to bfloat16. The rest stays binary32");
  f.choice("products", o.products, {"float", "integer"}, bits_unless(o.products, "float"),
           "of layers: binary32, or operands rounded to 12 bits, which are multiplied and added "
           "without error");
  f.choice("start", o.start, {"fresh", "run", "weights"}, bits_unless(o.start, "fresh"),
           "new weights; the state of another run, which `train --from` writes into [run.from]; or "
           "weights of files, which `train --weights` writes there");
  f.begin("from", "the state that this run starts from");
  if (o.start == "run") {
    f.field("recipe", o.from.recipe, Effect::kBits, "that run's recipe id");
    f.field("step", o.from.step, 1, kMaxSteps, Effect::kBits, "step of that run");
    f.field("updates", o.from.updates, 1, kMaxSteps, Effect::kBits,
            "updates that its optimisers had counted by then, including those of earlier runs");
    f.field("state", o.from.state, Effect::kBits,
            "SHA-256 tree of the state at step 0 of this run");
  }
  if (o.start == "weights")
    f.field("state", o.from.state, Effect::kBits,
            "SHA-256 tree of the state at step 0 of this run");
  f.choice("optimizer", o.from.optimizer, {"continue", "anew"},
           bits_unless(o.from.optimizer, "continue"),
           "with `train --from`: optimisers keep their slots and count of updates, so schedules "
           "count the updates of both runs; or they begin anew, with warm-up and schedule");
  f.end();
}

void describe(Fields& f, NetworkOptions& o) {
  describe(f, o.model);
  f.choice("weights", o.weights, {"trained", "frozen", "imported"},
           bits_unless(o.weights, "trained"),
           "frozen: those of the run that `train --from` names, never changed; no optimizer. "
           "imported: trained from those of the file that `train --weights` names");
  if (is_frozen(o))
    f.field("root", o.root, Effect::kBits,
            "SHA-256 tree of the frozen weights; left empty, `train --from` writes it");
  if (is_imported(o))
    f.field("file", o.file, Effect::kBits,
            "SHA-256 of the file; left empty, `train --weights` writes it");
}

void describe(Fields& f, Samples& o) {
  f.field("every", o.every, 0, kMaxSteps, Effect::kNone,
          "steps between sample grids; 0: only at the end");
  f.field("count", o.count, 0, 4096, Effect::kNone, "samples in a grid; 0: no grids");
  f.field("columns", o.columns, 1, data::kMostColumns, Effect::kNone,
          "columns of the grid; with data.classes a row is a class");
}

void describe(Fields& f, Checkpoint& o) {
  f.field("every", o.every, 0, kMaxSteps, Effect::kNone,
          "steps between checkpoints; 0: only at the end");
  f.field("keep_last", o.keep_last, 0, kMaxSteps, Effect::kNone,
          "newest checkpoints that are kept; 0: all");
  f.field("keep_every", o.keep_every, 0, kMaxSteps, Effect::kNone,
          "keep also those at multiples of this many steps; 0: none");
}

void describe(Fields& f, Evidence& o) {
  f.field("commit_every", o.commit_every, 0, kMaxSteps, Effect::kBits,
          "steps between SHA-256 commitments to the whole state in the ledger; 0: none");
  f.field("witness_rate", o.witness_rate, 0, 1, Effect::kNone,
          "share of lanes, drawn anew each step, that another rank computes a second time");
}

void describe(Fields& f, Evaluation& o) {
  const Effect bits = o.every > 0 ? Effect::kBits : Effect::kBitsAsBefore,
               none = o.every > 0 ? Effect::kNone : Effect::kNoneAsBefore;
  f.field("every", o.every, 0, kMaxSteps, bits,
          "steps between distances of samples to the data, which the ledger records; 0: none");
  f.field("samples", o.samples, 1, kMostEvaluated, bits, "samples of each side");
  f.field("seed", o.seed, 0, INT64_MAX, bits, "which of the data, and where samples start");
  f.field("features", o.features, none,
          "whose features are compared: a classifier, as a run, RUN@STEP or a checkpoint");
  f.field("features_hash", o.features_hash, bits,
          "hash of that classifier; left empty, `lockstep train` writes it");
}

void describe(Fields& f, Recipe& r) {
  const auto section = [&](std::string_view name, std::string_view doc, auto& options) {
    f.begin(name, doc);
    describe(f, options);  // found by the type of the options in its folder, or above
    f.end();
  };
  section("run", "what is run", r.run);
  section("batch", "the global batch: lanes x samples_per_lane", r.batch);
  section("data", "what is trained on", r.data);
  section("objective", "what is minimised, and how samples are drawn", r.objective);
  r.networks = for_roles(r.networks, objective::roles(r.objective));
  for (NetworkOptions& network : r.networks) {
    f.begin(network.role, "a network of the objective");
    describe(f, network);
    if (!is_frozen(network))
      section("optimizer", "what turns its gradients into updates", network.optimizer);
    f.end();
  }
  section("samples", "pictures made on the way", r.samples);
  section("checkpoint", "saved states", r.checkpoint);
  section("evidence", "what the ledger says, and what is computed twice", r.evidence);
  section("evaluation", "how far samples are from the data, in the ledger", r.evaluation);
  section("monitor", "when a run warns, or ends early", r.monitor);
}

bool is_frozen(const NetworkOptions& network) {
  return network.weights == "frozen";
}

bool is_imported(const NetworkOptions& network) {
  return network.weights == "imported";
}

std::vector<objective::PhaseNames> phases(const Recipe& recipe) {
  std::vector<objective::PhaseNames> trained;
  for (const objective::PhaseNames& phase : objective::phases(recipe.objective))
    if (!is_frozen(network(recipe, std::string(phase.role)))) trained.push_back(phase);
  return trained;
}

std::vector<objective::PhaseNames> phases(const Recipe& recipe, Step step) {
  auto of_step = phases(recipe);
  const std::int64_t counted = updates_before(recipe) + step.value;
  std::erase_if(of_step, [&](const objective::PhaseNames& phase) {
    return counted % objective::steps_between(recipe.objective, phase) != 0;
  });
  return of_step;
}

Step first_of_all_phases(const Recipe& recipe) {
  Step step(1);
  while (phases(recipe, step).size() < phases(recipe).size()) ++step;
  return step;
}

bool is_native(const Recipe& recipe) {
  return recipe.run.numerics == "native";
}

bool has_integer_products(const Recipe& recipe) {
  return recipe.run.products == "integer";
}

bool starts_from_state(const Recipe& recipe) {
  return recipe.run.start != "fresh";
}

bool makes_pictures(const Recipe& recipe) {
  return recipe.samples.count > 0 && objective::makes_samples(recipe.objective);
}

bool has_parent(const Recipe& recipe) {
  return recipe.run.start == "run";
}

bool begins_anew(const Recipe& recipe) {
  return recipe.run.from.optimizer == "anew";
}

std::int64_t updates_before(const Recipe& recipe) {
  return has_parent(recipe) && !begins_anew(recipe) ? recipe.run.from.updates : 0;
}

const NetworkOptions& network(const Recipe& recipe, const std::string& role) {
  for (const NetworkOptions& network : recipe.networks)
    if (network.role == role) return network;
  throw Error(Code::kBug, "the recipe has no network with the role '" + role + "'");
}

}  // namespace lockstep::recipe
