#include <algorithm>
#include <filesystem>
#include <optional>

#include "beginning.h"
#include "command.h"
#include "dry_run.h"
#include "environment.h"
#include "given_recipe.h"
#include "lockstep/comm/journal.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/help.h"
#include "lockstep/recipe/warnings.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/output_file.h"
#include "lockstep/train/run.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/signals.h"
#include "output.h"
#include "ranks.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

struct Options {
  std::string recipe;
  std::vector<std::string> set;
  std::string run, exchange_log;
  std::optional<std::string> sign;
  Source source;
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

std::string folder_of(const Options& options, const recipe::Recipe& recipe) {
  if (!options.run.empty()) return options.run;
  return stdfs::is_directory(options.recipe) && !options.source.from ? options.recipe
                                                                     : "runs/" + recipe.run.name;
}

// A run's own recipe makes another run elsewhere, which hardly anybody wants.
// named: by --run, which says enough, but for a new run where a run's folder was given.
void warn_of_runs_own(const stdfs::path& recipe, const stdfs::path& run, bool named) {
  std::error_code absent;
  const bool folder = stdfs::is_directory(recipe, absent);
  if (named && (!folder || stdfs::exists(run, absent))) return;
  const train::RunFolder its{folder                     ? recipe
                             : recipe.has_parent_path() ? recipe.parent_path()
                                                        : "."};
  if (!folder && recipe.filename() != its.recipe().filename()) return;
  if (!stdfs::exists(its.ledger(), absent) || stdfs::equivalent(its.root, run, absent)) return;
  log::warn(recipe.string() +
            (folder ? " is a run" : " is the recipe of the run " + its.root.string()) + ", and " +
            run.string() + " is another: `lockstep train " + its.root.string() +
            "` goes on with that one");
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
  train::require_no_name_of_a_run(exchange_log / "rank-0.jsonl", "an exchange log");
}

// This process's part of the run.
Code run_rank(const Options& options, const recipe::Recipe& given) {
  train::catch_stop_signals();
  const comm::Identity identity = comm::discover(process_environment());
  if (identity.rank == Rank(0) && !options.quiet) train::announce_stop_signals();
  if (identity.world > 1) log::info(identity.sentence);
  if (!identity.note.empty()) log::warn(identity.note);
  require_lanes(identity.world, given);  // at once: the others would wait for a deadline
  const std::string folder = folder_of(options, given);
  if (!options.exchange_log.empty()) require_elsewhere(options.exchange_log, folder);
  const ComputingScope computing(options.machine, identity.local_size, identity.local_rank);
  return as_rank(identity, [&] {
    Beginning beginning = beginning_of(given, folder, options.source);
    if (identity.rank != Rank(0)) beginning.start = {};  // nobody asks for that state
    const recipe::Recipe recipe = train::with_features_hash(beginning.recipe, folder);
    if (identity.rank == Rank(0)) {
      if (!options.source.from) warn_of_runs_own(options.recipe, folder, !options.run.empty());
      for (const std::string& line : recipe::warnings(recipe)) log::warn(line);
    }
    Member member =
        join(identity, recipe, {{"command", "train", false}, {"--shard", options.shard, false}},
             options.machine.device, process_environment());
    std::unique_ptr<comm::Group> group = std::move(member.group);
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
         .notes = beginning.notes,
         .fingerprint = std::move(member.fingerprint)},
        *group);
    show(*group, [&] { report(options, folder, result); });
    return result.preempted ? Code::kPreempted : Code::kOk;
  });
}

// Of ranks that --ranks would start.
int most_on_a_gpu(const std::string& device, int ranks) {
  const int first = gpu_of(device, 0);
  int count = 0;
  for (int rank = 0; rank < ranks; ++rank) count += gpu_of(device, rank) == first;
  return count;
}

Code run(const Options& options) {
  train::require_no_name_of_a_run(options.run, "another run");
  const recipe::Recipe recipe = given_recipe(options.recipe, options.set);
  const std::string folder = folder_of(options, recipe);
  train::require_place(folder);
  if (options.ranks > 1) require_lanes(options.ranks, recipe);
  if (options.dry_run) {
    if (options.sign) hash::read_private_key(*options.sign);  // one that will not do is told now
    train::Ranks ranks{.world = options.ranks};
    if (options.shard == "optimizer") ranks.keeps = Rank(0);
    std::optional<ComputingScope> computing;
    if (options.machine.device != "cpu") {
      computing.emplace(options.machine);
      ops::share_gpu(most_on_a_gpu(options.machine.device, options.ranks));
    }
    const Beginning begun = beginning_of(recipe, folder, options.source);
    dry_run(train::with_features_hash(begun.recipe, folder), folder, ranks,
            exchanges_on(options.machine.device, process_environment()), options.lanes_at_once,
            options.json);
    return Code::kOk;
  }
  log::set_quiet(options.quiet);
  if (options.ranks == 1 && options.max_restarts == 0) return run_rank(options, recipe);
  require_device(options.machine.device);
  return launch({options.ranks, options.max_restarts, options.json}, process_environment());
}

}  // namespace

Run add_train(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("recipe", options->recipe,
                  "a recipe (TOML; --help-recipe lists its keys), or a run's folder, which is "
                  "continued with its own recipe")
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
      .add_option("--from", options->source.from,
                  "start a new run from that run's checkpoint (of that step, or the newest); its "
                  "evidence names it")
      .value("RUN[@STEP]")
      .needs(folder);
  command
      .add_option("--weights", options->source.weights,
                  "start a new run with weights of a safetensors file, or of a folder with all "
                  "networks, as `lockstep export` writes them; ROLE= for one of two networks")
      .value("[ROLE=]FILE")
      .repeated();
  command
      .add_option("--ranks", options->ranks,
                  "start this many processes here, at most one a lane; never changes a bit")
      .range(1, 4096);
  command
      .add_option("--max-restarts", options->max_restarts,
                  "after killed ranks or a failure of the network: restart with the ranks that "
                  "remain, at most this many times")
      .range(0, 1000000);
  command
      .add_option("--shard", options->shard,
                  "what ranks divide: none, or optimizer: each keeps 1/ranks of the optimisers' "
                  "slots")
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
                  "write what every rank exchanges, operation by operation, to FOLDER/rank-N.jsonl")
      .value("FOLDER");
  command.add_flag("--dry-run", options->dry_run,
                   "print the resolved recipe, its id, size and cost, and train nothing");
  add_quiet(command, options->quiet);
  add_json(command, options->json);
  command.add_instead(
      "--help-recipe", [] { print_lines(recipe::help_markdown()); },
      "list all keys of a recipe with their defaults");
  command.footer(
      "Example: lockstep train recipes/fashion-mnist-ddpm.toml --set run.steps=500\n"
      "Exit codes: 0 done, 1 a recomputed step differs, 2 recipe, 3 data, 4 environment, 5 "
      "evidence, 6 other ranks, 7 diverged, 75 stopped and saved");
  return [options] {
    try {
      return run(*options);
    } catch (const std::bad_alloc&) {
      throw lacks_memory("lower batch.samples_per_lane or the model's size");
    }
  };
}

}  // namespace lockstep::cli
