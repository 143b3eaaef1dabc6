#include "lockstep/train/initial_state.h"

#include <algorithm>
#include <map>
#include <set>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/open_run.h"
#include "lockstep/train/training.h"

namespace lockstep::train {
namespace {

constexpr std::string_view kIsState = "step 0 is the state of ",
                           kHasDigest = "step 0 has the digest that the ledger of ";

// Its formula divides by 1 - beta^t: by the count of the whole way, not by that of the slots.
constexpr const char* kNoBiasCorrection =
    "; updates are counted on, so its bias correction is another: after thousands of updates its "
    "first ones are up to 7 times the learning rate (run.from.optimizer = \"anew\" counts from 0)";

// Fills a fresh state with another run's.
class Continuation {
 public:
  // anew: slots stay at zero.
  Continuation(const state::State& theirs, const recipe::Recipe& their_recipe, bool anew)
      : recipe_(their_recipe), anew_(anew) {
    for (const state::Named& named : theirs.tensors) theirs_[named.name] = &named;
  }

  void into(Training& training) {
    for (const Trained& one : training.trained) network(one, training.state);
    for (const auto& [name, named] : theirs_)
      if (!taken_.contains(name) && !may_go(name))
        refuse("it has " + name + ", and this recipe has not");
  }
  std::vector<std::string> notes;

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    throw Error(
        Code::kUsage, "its state does not fit this recipe: " + what,
        "the networks and data.classes must be the same; optimiser, batch, data and averages may "
        "differ");
  }

  // "m" of "model/m/in.weight".
  static std::string kind_of(const std::string& name) {
    const std::size_t begin = name.find('/') + 1;
    return name.substr(begin, name.find('/', begin) - begin);
  }
  static bool is_weight(const std::string& kind) { return kind == "param" || kind == "buffer"; }
  bool may_go(const std::string& name) const { return !is_weight(kind_of(name)); }

  void note(const std::string& line) {
    if (std::ranges::find(notes, line) == notes.end()) notes.push_back(line);
  }

  void network(const Trained& trained, state::State& state) {
    const auto role =
        std::ranges::find(recipe_.networks, trained.role, &recipe::NetworkOptions::role);
    if (role == recipe_.networks.end()) refuse("it has no " + trained.role);
    const bool same_optimizer =
        !recipe::is_frozen(*role) && role->optimizer.kind == trained.options.kind;
    if (!same_optimizer && !anew_ && trained.optimizer)
      note(trained.role + ": the slots of " + trained.options.kind.word() +
           " start at zero, the parent has " +
           (recipe::is_frozen(*role) ? "none" : "those of " + role->optimizer.kind.word()) +
           (trained.options.kind == "adamw" ? kNoBiasCorrection : ""));
    for (state::Named& named : state.tensors) {
      if (!named.name.starts_with(trained.role + "/")) continue;
      const std::string kind = kind_of(named.name);
      if (is_average(kind) && !theirs_.contains(named.name)) {
        note(trained.role +
             ": averages that the parent does not keep start as copies of the weights");
        copy(parameter_of(named, kind, state), named);
      } else if (is_weight(kind) || is_average(kind) || (same_optimizer && !anew_)) {
        take(named);
      }
    }
    const bool averages_go = std::ranges::any_of(theirs_, [&](const auto& one) {
      const std::string& name = one.first;
      return name.starts_with(trained.role + "/") && is_average(kind_of(name)) &&
             !taken_.contains(name);
    });
    if (averages_go)
      note(trained.role + ": " + (trained.averages.empty() ? "the" : "some of the") +
           " parent's averages are not kept");
  }

  // Parameters come first in the state's order, so the parent's are in place by now.
  static const state::Named& parameter_of(const state::Named& average, const std::string& kind,
                                          const state::State& state) {
    std::string name = average.name;
    name.replace(name.find("/" + kind + "/") + 1, kind.size(), "param");
    return *std::ranges::find(state.tensors, name, &state::Named::name);
  }

  void take(state::Named& named) {
    const auto found = theirs_.find(named.name);
    if (found == theirs_.end()) refuse("it has no " + named.name);
    if (found->second->shape() != named.shape()) refuse(named.name + " has another shape there");
    copy(*found->second, named);
    taken_.insert(named.name);
  }

  static void copy(const state::Named& from, state::Named& to) {
    ops::from_host(ops::HostView(from.tensor).floats(), to.tensor);
  }

  const recipe::Recipe& recipe_;
  const bool anew_;
  std::map<std::string, const state::Named*> theirs_;
  std::set<std::string> taken_;
};

// Of the same data. Those of a seed are the first of one order (data/order.h).
bool learnt_from_held_out(const recipe::Recipe& parent, const recipe::Recipe& child) {
  return child.data.holdout > 0 &&
         (parent.run.seed != child.run.seed || parent.data.holdout < child.data.holdout);
}

// What the parent's networks learnt otherwise than this run's will, if anything.
std::optional<std::string> other_target(const recipe::Recipe& parent, const recipe::Recipe& child) {
  const auto theirs = recipe::keys_of(recipe::canonical(parent)),
             ours = recipe::keys_of(recipe::canonical(child));
  for (const char* key : {"objective.kind", "objective.prediction"}) {
    const auto of = [&](const auto& keys) {
      const auto found = std::ranges::find(keys, key, &std::pair<std::string, std::string>::first);
      return found == keys.end() ? "not set" : found->second;
    };
    if (of(theirs) != of(ours))
      return std::string(key) + " is " + of(ours) + ", in the parent " + of(theirs) +
             ": its networks learnt another target";
  }
  return std::nullopt;
}

}  // namespace

hash::Digest root_of(const state::State& state, const std::string& role) {
  state::State weights;
  for (const state::Named& named : state.tensors)
    if (named.name.starts_with(role + "/param/") || named.name.starts_with(role + "/buffer/"))
      weights.tensors.push_back(named);
  return state::commit(weights);
}

recipe::Recipe without_files(recipe::Recipe recipe) {
  for (recipe::NetworkOptions& one : recipe.networks) {
    if (!recipe::is_imported(one)) continue;
    one.weights = "trained";
    one.file.clear();
  }
  return recipe;
}

Start start_from(const SavedState& parent, recipe::Recipe recipe) {
  recipe = without_files(std::move(recipe));
  const auto [theirs, ledger, step, loaded] = open_run(real_file_system(), parent);
  if (step == Step(0))
    throw Error(
        Code::kUsage, parent.folder.string() + "@0 is what that run itself starts from",
        "start from what that run names (--from RUN@STEP, --weights FILE), or from a later step");

  recipe.run.start = "fresh";
  const auto dataset = data::open(recipe.data);
  Training training = make_training(recipe, dataset->sample_shape(), {.world = 1});
  Continuation continuation(loaded.state(), theirs, recipe::begins_anew(recipe));
  try {
    continuation.into(training);
  } catch (const Error& error) {
    throw error.within(parent.folder.string() + "@" + std::to_string(step.value));
  }
  for (recipe::NetworkOptions& one : recipe.networks) {
    if (!recipe::is_frozen(one)) continue;
    const std::string root = root_of(training.state, one.role).hex();
    if (!one.root.empty() && one.root != root)
      throw Error(Code::kUsage,
                  "[" + one.role + "]: the weights of " + parent.folder.string() + "@" +
                      std::to_string(step.value) + " have the root " + root.substr(0, 12) +
                      ", the recipe names " + one.root.substr(0, 12),
                  "give the run that has them with --from, or leave root out");
    one.root = root;
  }
  if (learnt_from_held_out(theirs, recipe) && dataset->hash() == ledger.header.data)
    continuation.notes.emplace_back(
        "the parent learnt from some of the samples that are held out now: run.seed chooses which, "
        "and data.holdout how many");
  if (auto target = other_target(theirs, recipe)) continuation.notes.push_back(std::move(*target));
  for (const objective::PhaseNames& phase : recipe::phases(recipe)) {
    const std::int64_t here = objective::steps_between(recipe.objective, phase),
                       there = objective::steps_between(theirs.objective, phase);
    if (here != there && !recipe::begins_anew(recipe))
      continuation.notes.push_back(
          "the " + std::string(phase.role) + " trains at multiples of " + std::to_string(here) +
          ", in the parent of " + std::to_string(there) +
          ": its optimiser counts as if it always had (run.from.optimizer = \"anew\" counts from "
          "0)");
  }
  training.state.samples = loaded.state().samples;
  recipe.run.start = "run";
  recipe.run.from = {.recipe = ledger.header.recipe.hex(),
                     .step = step.value,
                     .updates = recipe::updates_before(theirs) + step.value,
                     .state = state::commit(training.state).hex(),
                     .optimizer = recipe.run.from.optimizer};
  return {std::move(recipe), std::move(training.state), std::move(continuation.notes)};
}

namespace {

// Checks where the run starts against the parent's own evidence, without its checkpoint. Returns
// the root of the parent's state there, as its ledger has it.
hash::Digest require_descent(const recipe::From& wanted, const RunFolder& parent,
                             const std::string& place) {
  const recipe::Recipe theirs = recipe::of_run(real_file_system(), parent.root);
  if (recipe::id(theirs).hex() != wanted.recipe)
    throw Error(
        Code::kDiffer,
        parent.root.string() + " is of another recipe than the run that this one starts from",
        "give the run of recipe " + wanted.recipe.substr(0, 12));
  const ledger::Ledger ledger = ledger_of_run(real_file_system(), parent, theirs);
  if (Step(wanted.step) > ledger.last())
    throw Error(Code::kDiffer, "the run starts from " + place + ", whose ledger ends at step " +
                                   std::to_string(ledger.last().value));
  const std::int64_t updates = recipe::updates_before(theirs) + wanted.step;
  if (wanted.updates != updates)
    throw Error(Code::kDiffer, "the run starts from " + place + ", after " +
                                   counted(updates, "update") + ", and its recipe says " +
                                   std::to_string(wanted.updates));
  return ledger.at(Step(wanted.step)).state;
}

// Without the parent's checkpoint: whether the child's own step 0 is, tensor by tensor, the state
// that the parent's ledger has. Not where slots began anew or averages differ.
bool is_the_parents(const hash::Digest& root, const recipe::From& wanted, const RunFolder& child) {
  const auto start = checkpoint::load_if_there(
      real_file_system(), child.checkpoints() / checkpoint::file_name(Step(0)));
  if (!start || state::commit(start->state()).hex() != wanted.state) return false;
  state::State state = start->state();
  state.step = Step(wanted.step);
  return state::digest(state).root == root;
}

}  // namespace

bool is_compared_start(std::string_view line) {
  return line.starts_with(kIsState) || line.starts_with(kHasDigest);
}

std::string compare_parent(const std::filesystem::path& parent, const recipe::Recipe& recipe,
                           const std::filesystem::path& child) {
  const recipe::From& wanted = recipe.run.from;
  const std::string place = parent.string() + "@" + std::to_string(wanted.step);
  const hash::Digest root = require_descent(wanted, {parent}, place);
  std::string state;
  try {
    state = start_from({parent, Step(wanted.step)}, recipe).recipe.run.from.state;
  } catch (const Error& error) {
    const auto file = RunFolder{parent}.checkpoints() / checkpoint::file_name(Step(wanted.step));
    const bool gone = !real_file_system().exists(file);
    if (gone && is_the_parents(root, wanted, {child}))
      return std::string(kHasDigest) + place + " has there";
    if (gone || error.code() == Code::kData)
      throw Error(Code::kEnvironment,
                  "step 0 cannot be compared with " + place + ": " +
                      (gone ? "its checkpoint is gone" : error.message()),
                  "without --parent the run is taken to start where it says");
    if (error.code() != Code::kUsage) throw;
    throw Error(Code::kDiffer, error.message(), error.hint());  // it cannot have started there
  }
  if (state != wanted.state)
    throw Error(Code::kDiffer, place + " is not the state that the run starts from");
  return std::string(kIsState) + place;
}

}  // namespace lockstep::train
