#include <algorithm>
#include <filesystem>
#include <optional>

#include "command.h"
#include "dry_run.h"
#include "lockstep/comm/journal.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/core/output_file.h"
#include "lockstep/core/text.h"
#include "lockstep/recipe/help.h"
#include "lockstep/recipe/load.h"
#include "lockstep/recipe/warnings.h"
#include "lockstep/train/from.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/run.h"
#include "lockstep/train/signals.h"
#include "mistaken.h"
#include "output.h"
#include "ranks.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

struct Options {
  std::string recipe;
  std::vector<std::string> set, weights;
  std::string run, exchange_log;
  std::optional<std::string> sign, from;
  Machine machine;
  int ranks = 1, max_restarts = 0;
  std::int64_t lanes_at_once = 0;
  std::string shard = "none";
  bool tensorboard = false, dry_run = false, quiet = false, json = false;
};

void report(const Options& options, const std::string& folder, const train::RunResult& result) {
  if (options.json) {
    print_json({{"run", folder},
                {"first", result.first.value},
                {"steps", result.last.value},
                {"preempted", result.preempted},
                {"chain", result.chain}});
  } else {
    print_line(folder, ": ", result.preempted ? "stopped by a signal and saved, " : "",
               counted(result.last.value, "step"), ", ledger ", result.chain,
               result.preempted ? " (the same command goes on)" : "");
  }
}

[[noreturn]] void no_such_recipe(stdfs::path path) {
  if (!path.has_filename()) path = path.parent_path();  // "runs/a/"
  const auto takes = [](const stdfs::path& one) {
    std::error_code absent;
    return one.extension() == ".toml" || stdfs::exists(one / "recipe.toml", absent);
  };
  throw Error(Code::kUsage, "there is no " + path.string(),
              meant_beside(path, takes) + "give a recipe (a TOML file), or the folder of a run");
}

// Loads a recipe; from a run's folder, that run's own.
recipe::Recipe recipe_of(const Options& options) {
  std::error_code unreadable;  // which `load` names
  if (stdfs::symlink_status(options.recipe, unreadable).type() == stdfs::file_type::not_found)
    no_such_recipe(options.recipe);
  if (!stdfs::is_directory(options.recipe)) {
    require_no_other_than_recipe(options.recipe);
    return recipe::load(options.recipe, options.set);
  }
  recipe::of_run(real_file_system(), options.recipe);  // every byte is checked
  return recipe::load(stdfs::path(options.recipe) / "recipe.toml", options.set);
}

std::string folder_of(const Options& options, const recipe::Recipe& recipe) {
  if (!options.run.empty()) return options.run;
  return stdfs::is_directory(options.recipe) && !options.from ? options.recipe
                                                              : "runs/" + recipe.run.name;
}

// What the run starts from. A run that has begun goes on from its own folder if the parent is gone.
struct Beginning {
  recipe::Recipe recipe;
  std::vector<std::string> notes;
  std::function<state::State()> start;
};

// Of a recipe that starts from no other run.
void require_no_parent(const recipe::Recipe& recipe) {
  if (recipe::begins_anew(recipe))
    throw Error(Code::kUsage, "run.from.optimizer is \"anew\", and the run starts from no other",
                "give that run with --from, or leave out [run.from]");
  for (const recipe::NetworkOptions& one : recipe.networks)
    if (recipe::is_frozen(one))
      throw Error(Code::kUsage,
                  "[" + one.role + "]: its weights are frozen, and the run starts from no other",
                  "give the run that has them with --from");
}

train::WeightsFile weights_there(const std::string& role, const std::string& file,
                                 const std::string& roles) {
  if (!stdfs::exists(file))
    throw Error(
        Code::kUsage, "--weights: there is no " + file,
        "give a safetensors file, as `lockstep export` writes it; ROLE= before it may be " + roles);
  return {role, file};
}

// "generator=g.safetensors"; of a recipe with one network, "w.safetensors".
train::WeightsFile parse_weights(const std::string& text, const recipe::Recipe& recipe) {
  std::string roles;
  for (const recipe::NetworkOptions& one : recipe.networks)
    roles += (roles.empty() ? "" : ", ") + one.role;
  for (const recipe::NetworkOptions& one : recipe.networks)
    if (text.starts_with(one.role + "="))
      return weights_there(one.role, text.substr(one.role.size() + 1), roles);
  if (recipe.networks.size() > 1)
    throw Error(Code::kUsage, "--weights " + text + " does not say which network they are for",
                "write ROLE=FILE, of: " + roles);
  return weights_there(recipe.networks.front().role, text, roles);
}

// Once: what it comes from may go on, and retire that checkpoint.
Beginning beginning_of(train::Start start) {
  const auto state = std::make_shared<state::State>(std::move(start.state));
  return {std::move(start.recipe), std::move(start.notes), [state] { return std::move(*state); }};
}

Beginning beginning_with_weights(const Options& options, const recipe::Recipe& recipe) {
  if (options.from)
    throw Error(Code::kUsage, "--from and --weights both say what the run starts from",
                "leave one of the two out");
  std::vector<train::WeightsFile> files;
  for (const std::string& text : options.weights) {
    files.push_back(parse_weights(text, recipe));
    if (std::ranges::count(files, files.back().role, &train::WeightsFile::role) > 1)
      throw Error(Code::kUsage, "--weights names two files for " + files.back().role,
                  "give one file a network");
  }
  if (recipe::has_parent(recipe))
    throw Error(Code::kUsage, "the recipe starts from another run, not with --weights",
                "take run.start and [run.from] out of the recipe");
  require_no_parent(recipe);
  return beginning_of(train::start_from_weights(files, recipe));
}

Beginning beginning(const Options& options, recipe::Recipe recipe) {
  if (!options.weights.empty()) return beginning_with_weights(options, recipe);
  if (recipe.run.start != "weights")
    for (const recipe::NetworkOptions& one : recipe.networks)
      if (recipe::is_imported(one))
        throw Error(Code::kUsage,
                    "[" + one.role + "]: its weights are imported, and there is no file",
                    "give it with --weights");
  if (!options.from) {
    if (!recipe::has_parent(recipe)) require_no_parent(recipe);
    return {std::move(recipe), {}, {}};
  }
  recipe = train::without_files(std::move(recipe));
  train::SavedState parent = train::parse_saved_state(*options.from);
  const stdfs::path folder = folder_of(options, recipe);
  std::error_code absent;
  if (stdfs::equivalent(folder, parent.folder, absent))
    throw Error(Code::kUsage,
                "the run that starts from " + parent.folder.string() + " needs a folder of its own",
                "give it with --run");
  std::optional<recipe::Recipe> begun;
  try {
    if (stdfs::exists(folder / "recipe.toml")) begun = recipe::of_run(real_file_system(), folder);
  } catch (const Error& error) {  // a damaged one may be written anew
    if (error.code() != Code::kCorrupt) throw;
  }
  if (begun && recipe::has_parent(*begun)) {
    const recipe::From& from = begun->run.from;
    if (!parent.step) parent.step = Step(from.step);
    if (!stdfs::exists(parent.folder) && parent.step == Step(from.step)) {
      const std::string optimizer = recipe.run.from.optimizer;  // as asked for now
      recipe.run.start = "run";
      recipe.run.from = from;
      for (recipe::NetworkOptions& one : recipe.networks)
        for (const recipe::NetworkOptions& known : begun->networks)
          if (recipe::is_frozen(one) && one.root.empty() && known.role == one.role)
            one.root = known.root;
      recipe.run.from.optimizer = optimizer;
      return {std::move(recipe), {}, {}};
    }
  }
  train::Start start = train::start_from(parent, recipe);
  const recipe::From& from = start.recipe.run.from;
  const recipe::From& wanted = recipe.run.from;
  if (recipe::has_parent(recipe) &&
      (wanted.recipe != from.recipe || wanted.step != from.step || wanted.state != from.state))
    throw Error(Code::kUsage,
                "the recipe starts from step " + std::to_string(wanted.step) + " of recipe " +
                    wanted.recipe.substr(0, 12) + ", not from " + parent.folder.string() + "@" +
                    std::to_string(from.step) + " (recipe " + from.recipe.substr(0, 12) + ")",
                "give that run with --from, or take [run.from] out of the recipe");
  start.notes.insert(
      start.notes.begin(),
      "starts from " + parent.folder.string() + "@" + std::to_string(from.step) + ", after " +
          counted(from.updates, "update") +
          (recipe::begins_anew(start.recipe) ? "; optimisers and schedules begin anew" : ""));
  return beginning_of(std::move(start));
}

// The run's folder is the run's: what lies in a new one before it begins would be another's.
void require_elsewhere(const stdfs::path& exchange_log, const stdfs::path& run) {
  std::error_code absent;
  const auto place = [&](const stdfs::path& path) {
    return stdfs::weakly_canonical(stdfs::absolute(path, absent), absent);
  };
  const auto inside = place(exchange_log).lexically_relative(place(run));
  if (!inside.empty() && *inside.begin() != "..")
    throw Error(
        Code::kUsage,
        "--exchange-log " + exchange_log.string() + " lies in the run's folder, " + run.string(),
        "give a folder beside it, such as " + run.string() + "-exchange");
  require_no_name_of_a_run(exchange_log / "rank-0.jsonl", "an exchange log");
}

// This process's part of the run.
Code run_rank(const Options& options, const recipe::Recipe& given) {
  train::catch_stop_signals();
  const comm::Identity identity = comm::discover(process_environment());
  if (identity.rank == Rank(0) && !options.quiet) train::announce_stop_signals();
  if (identity.world > 1) log::info(identity.sentence);
  require_lanes(identity.world, given);  // at once: the others would wait for a deadline
  const std::string folder = folder_of(options, given);
  if (!options.exchange_log.empty()) require_elsewhere(options.exchange_log, folder);
  const ComputingScope computing(options.machine, identity.local_size, identity.local_rank);
  std::unique_ptr<comm::Group> group;
  try {
    const Beginning beginning = cli::beginning(options, given);
    const recipe::Recipe recipe = train::with_features_hash(beginning.recipe);
    if (identity.rank == Rank(0))
      for (const std::string& line : recipe::warnings(recipe)) log::warn(line);
    group = join(identity, recipe, options.shard, options.machine.device, process_environment());
    if (!options.exchange_log.empty())
      group = comm::journaled(std::move(group), options.exchange_log);
    const train::RunResult result = train::run(
        {.recipe = recipe,
         .folder = folder,
         .shard = options.shard == "optimizer" ? train::Shard::kOptimizer : train::Shard::kNone,
         .lanes_at_once = options.lanes_at_once,
         .processes = identity.local_size,
         .tensorboard = options.tensorboard,
         .sign = options.sign,
         .start = beginning.start,
         .notes = beginning.notes},
        *group);
    show(*group, [&] { report(options, folder, result); });
    return result.preempted ? Code::kPreempted : Code::kOk;
  } catch (const Error& error) {
    if (identity.world == 1) throw;
    const Error named = error.within("rank " + std::to_string(identity.rank.value));
    if (group || !train::stop_requested()) throw named;
    log::warn(named.what());  // nothing was begun
    return Code::kPreempted;
  }
}

Code run(const Options& options) {
  require_no_name_of_a_run(options.run, "another run");
  const recipe::Recipe recipe = recipe_of(options);
  if (options.ranks > 1) require_lanes(options.ranks, recipe);
  if (options.dry_run) {
    train::Ranks ranks{.world = options.ranks};
    if (options.shard == "optimizer") ranks.keeps = Rank(0);
    std::optional<ComputingScope> computing;
    if (options.machine.device != "cpu") computing.emplace(options.machine);
    dry_run(train::with_features_hash(beginning(options, recipe).recipe), ranks,
            options.lanes_at_once, options.json);
    return Code::kOk;
  }
  log::set_quiet(options.quiet);
  if (options.ranks == 1 && options.max_restarts == 0) return run_rank(options, recipe);
  require_device(options.machine.device);
  return launch({options.ranks, options.max_restarts}, process_environment());
}

}  // namespace

Run add_train(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("recipe", options->recipe,
                  "recipe, a TOML file (docs/recipes.md lists its keys), or a run's folder, which "
                  "is continued with its own recipe")
      .required();
  command
      .add_option("--set", options->set,
                  "override one key: --set model.optimizer.lr=1e-3; may be given again")
      .value("KEY=VALUE")
      .repeated();
  const Option folder =
      command.add_option("--run", options->run, "run folder, made or continued [runs/<run.name>]")
          .value("FOLDER");
  command
      .add_option("--from", options->from,
                  "start a new run from that run's checkpoint (of that step, or the newest); its "
                  "evidence names it")
      .value("RUN[@STEP]")
      .needs(folder);
  command
      .add_option(
          "--weights", options->weights,
          "start a new run with the weights of a safetensors file, as `lockstep export` names "
          "them; ROLE= where a recipe has two networks; the recipe gets its SHA-256")
      .value("[ROLE=]FILE")
      .repeated();
  command
      .add_option("--ranks", options->ranks,
                  "start this many processes here, at most one a lane; never changes a bit")
      .range(1, 4096);
  command
      .add_option("--max-restarts", options->max_restarts,
                  "when ranks are killed or the network fails: go on from the last checkpoint with "
                  "the ranks that remain, at most this many times")
      .range(0, 1000000);
  command
      .add_option("--shard", options->shard,
                  "what ranks divide among them: none, or optimizer: each keeps 1/ranks of the "
                  "optimisers' slots")
      .one_of({"none", "optimizer"});
  command
      .add_option("--sign", options->sign,
                  "private key of `lockstep keygen`: rank 0 signs every checkpoint with it")
      .value("KEY");
  add_machine(command, options->machine);
  add_lanes_at_once(command, options->lanes_at_once);
  command.add_flag("--tensorboard", options->tensorboard,
                   "write event files for TensorBoard, scalars and pictures, in the run's folder");
  command
      .add_option("--exchange-log", options->exchange_log,
                  "write what every rank exchanges, verb by verb, to FOLDER/rank-N.jsonl")
      .value("FOLDER");
  command.add_flag("--dry-run", options->dry_run,
                   "print the resolved recipe, its id, size and cost, and train nothing");
  command.add_flag("--quiet", options->quiet, "warnings and errors only");
  command.add_flag("--json", options->json, "report as JSON");
  command.add_instead(
      "--help-recipe", [] { print_lines(recipe::help_markdown()); },
      "list all keys of a recipe with their defaults (docs/recipes.md)");
  command.footer(
      "Example: lockstep train recipes/fashion-mnist-ddpm.toml --set run.steps=500\n"
      "Exit codes: 0 done, 1 a recomputed step differs, 2 recipe, 3 data, 4 environment, 5 "
      "evidence, 6 other ranks, 7 diverged, 75 stopped and saved");
  return [options] {
    try {
      return run(*options);
    } catch (const std::bad_alloc&) {
      throw Error(Code::kEnvironment, "out of memory",
                  "lower batch.samples_per_lane or the model's size");
    }
  };
}

}  // namespace lockstep::cli
