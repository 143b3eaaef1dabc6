#include <filesystem>
#include <limits>

#include "child.h"
#include "command.h"
#include "container.h"
#include "environment.h"
#include "lockstep/audit/replay.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/core/progress.h"
#include "lockstep/hash/hmac.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/signals.h"
#include "mistaken.h"
#include "output.h"
#include "ranks.h"
#include "replay_report.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

struct Options {
  std::string folder;
  std::int64_t from = 1, to = 0, spot = 0, spot_steps = 10, seed = -1;
  std::string data, features;
  std::optional<std::string> parent;
  std::int64_t lanes_at_once = 0;
  Machine machine;
  int ranks = 1;
  Container container;
  bool quiet = false, json = false;
};

std::int64_t fresh_seed() {
  std::array<std::byte, 4> random{};
  hash::random_bytes(random);
  std::int64_t seed = 0;
  for (const std::byte byte : random) seed = seed << 8 | static_cast<std::int64_t>(byte);
  return seed;
}

Code shown(const Options& options, const Json& report) {
  note_replay(options.folder, report);
  if (options.json)
    print_json(report);
  else
    for (const std::string& line : replay_text(report)) print_line(line);
  return report.at("agrees").get<bool>() ? Code::kOk : Code::kDiffer;
}

// A run's recipe without what a copy of an earlier time may have otherwise, and a replay needs not.
recipe::Recipe recipe_of_copies(const std::filesystem::path& folder) {
  recipe::Recipe recipe = recipe::of_run(real_file_system(), folder);
  recipe.run.steps = 0;
  recipe.checkpoint = {};
  recipe.monitor = {};
  return recipe;
}

// This process's part.
Code run_rank(const Options& options) {
  train::catch_stop_signals();
  const comm::Identity identity = comm::discover(process_environment());
  if (identity.world > 1 && options.spot > 0 && options.seed < 0)
    throw Error(Code::kUsage, "several ranks draw the same windows from the same seed",
                "give --seed");
  const ComputingScope computing(options.machine, identity.local_size, identity.local_rank);
  audit::ReplayOptions replay{
      .folder = options.folder,
      .window = {.from = Step(options.from), .to = {}},
      .spots = options.spot,
      .spot_steps = options.spot_steps,
      .seed = static_cast<std::uint64_t>(options.seed < 0 ? fresh_seed() : options.seed),
      .data = {},
      .lanes_at_once = options.lanes_at_once,
      .processes = identity.local_size,
      .parent = options.parent,
      .features = options.features};
  if (options.to > 0) replay.window.to = Step(options.to);
  if (!options.data.empty()) replay.data = options.data;
  return as_rank(identity, [&] {
    Member member =
        join(identity, identity.world == 1 ? recipe::Recipe{} : recipe_of_copies(options.folder),
             {{"command", "replay", false},
              {"--from", std::to_string(options.from), false},
              {"--to", std::to_string(options.to), false},
              {"--spot", std::to_string(options.spot), false},
              {"--spot-steps", std::to_string(options.spot_steps), false},
              {"--seed", std::to_string(options.seed), false}},
             options.machine.device, process_environment());
    const std::unique_ptr<comm::Group> group = std::move(member.group);
    replay.fingerprint = std::move(member.fingerprint);
    std::optional<Progress> progress;  // one rank shows it
    if (group->rank() == Rank(0)) progress.emplace("steps agree with the ledger", "step");
    replay.progress = [&](std::int64_t done, std::int64_t total) {
      if (done < total) train::require_no_stop("replaying " + options.folder);
      if (progress) (*progress)(done, total);
    };
    const audit::ReplayResult result = audit::replay(replay, *group);
    progress.reset();
    show(*group, [&] { shown(options, replay_report(replay, group->size(), result)); });
    return result.differs ? Code::kDiffer : Code::kOk;
  });
}

// The classifier of its evaluations, in the folder or file that has it. Without --features the copy
// in the run's folder comes first: the other one is for images whose program knows no copies.
void show_features(const Options& options, Visible& there) {
  const recipe::Evaluation evaluation =
      recipe::of_run(real_file_system(), options.folder).evaluation;
  if (evaluation.every == 0) return;
  const std::string source = options.features.empty() ? evaluation.features : options.features;
  const std::size_t at = stdfs::exists(source) ? std::string::npos : source.rfind('@');
  const std::string path = stdfs::absolute(source.substr(0, at)).lexically_normal().string();
  if (!stdfs::exists(path)) return;
  there.mounts.push_back({path});
  const bool kept =
      !checkpoint::list(real_file_system(), train::RunFolder{options.folder}.features()).empty();
  if (kept && options.features.empty()) return;
  there.arguments.insert(there.arguments.end(),
                         {"--features", path + (at == std::string::npos ? "" : source.substr(at))});
}

// The same command inside a container, which sees run and data, and may write to neither.
Code run_in_container(const Options& options) {
  train::catch_stop_signals();
  Visible there = visible(options.folder, options.data);
  show_features(options, there);
  std::vector<std::string> arguments = {"replay", there.run, "--json"};
  arguments.insert(arguments.end(), there.arguments.begin(), there.arguments.end());
  const auto add = [&](const std::string& name, std::int64_t value) {
    arguments.push_back(name);
    arguments.push_back(std::to_string(value));
  };
  const std::int64_t steps =
      ledger::read(real_file_system(), train::RunFolder{options.folder}.ledger(),
                   ledger::TornTail::kDrop)
          .last()
          .value;
  std::vector<audit::Window> windows;
  if (options.spot > 0) {
    audit::ReplayOptions spots{.folder = {}, .window = {}, .data = {}};
    spots.spots = options.spot;
    spots.spot_steps = options.spot_steps;
    spots.seed = static_cast<std::uint64_t>(options.seed < 0 ? fresh_seed() : options.seed);
    windows = audit::spot_windows(spots, steps);
    add("--spot", spots.spots);
    add("--spot-steps", spots.spot_steps);
    add("--seed", static_cast<std::int64_t>(spots.seed));
  } else {
    windows.push_back({Step(options.from), Step(options.to > 0 ? options.to : steps)});
    add("--from", options.from);
    add("--to", windows.back().to->value);
  }
  add("--ranks", options.ranks);
  add("--threads", options.machine.threads);
  if (options.machine.device != "cpu") {  // older images have no such option
    arguments.emplace_back("--device");
    arguments.push_back(options.machine.device);
  }
  if (options.lanes_at_once > 0) add("--lanes-at-once", options.lanes_at_once);
  if (options.quiet) arguments.emplace_back("--quiet");

  const TemporaryFolder here;
  const std::string out = here.file("report.json");
  const Code code = run_contained(options.container, there.mounts, {}, arguments, out);
  if (code != Code::kOk && code != Code::kDiffer) {
    if (options.json) print_json(parse_error_report(read_text(real_file_system(), out), code));
    return code;
  }
  Json report = parse_replay_report(read_text(real_file_system(), out), code, windows, steps);
  report["machine"]["container"] = options.container.image;
  return shown(options, report);
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  if (options.spot > 0 && (options.from != 1 || options.to != 0))
    throw Error(Code::kUsage, "--spot draws the windows itself", "leave out --from and --to");
  require_no_other_than_run(options.folder);
  if (!stdfs::is_directory(options.folder))
    throw Error(Code::kUsage, "there is no run folder " + options.folder,
                options.folder.find('@') == std::string::npos
                    ? ""
                    : "give the folder alone: --from and --to say which steps");
  if (!options.features.empty() &&
      recipe::of_run(real_file_system(), options.folder).evaluation.every == 0)
    throw Error(Code::kUsage, "--features: the run has no evaluations", "leave it out");
  if (!options.container.image.empty() && options.parent)
    throw Error(Code::kUsage, "--parent: a container sees this run alone", "leave it out");
  if (!options.container.image.empty()) return run_in_container(options);
  if (options.ranks == 1) return run_rank(options);
  require_lanes(options.ranks, recipe::of_run(real_file_system(), options.folder));
  if (options.spot > 0 && options.seed < 0)
    throw Error(Code::kUsage, "--ranks with --spot: the ranks draw the same windows from a seed",
                "give --seed");
  require_device(options.machine.device);
  return launch({options.ranks, 0, options.json}, process_environment());
}

}  // namespace

Run add_replay(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("run", options->folder,
                  "run folder; a line in its replays.jsonl says what was done, nothing else is "
                  "written")
      .required();
  command.add_option("--from", options->from, "first step to compare").value("STEP");
  command.add_option("--to", options->to, "last step to compare, 0: the ledger's end")
      .value("STEP")
      .range(std::int64_t{0}, std::int64_t{1} << 40);
  const Option spot =
      command
          .add_option(
              "--spot", options->spot,
              "instead: so many windows, the last steps and others drawn at random, 0: none")
          .range(0, 1000000);
  command.add_option("--spot-steps", options->spot_steps, "steps of each window")
      .range(1, 1000000)
      .needs(spot);
  command.add_option("--seed", options->seed, "of the draw, -1: a fresh one, which is reported")
      .range(std::int64_t{-1}, std::numeric_limits<std::int64_t>::max())
      .needs(spot);
  add_data(command, options->data);
  command
      .add_option("--features", options->features,
                  "where the classifier of [evaluation] lies, if neither the run's folder nor the "
                  "recipe's place has it")
      .value("RUN");
  command
      .add_option("--parent", options->parent,
                  "the run whose state this one starts from (`train --from`), to compare it with")
      .value("RUN");
  command
      .add_option("--ranks", options->ranks, "start this many processes here, at most one a lane")
      .range(1, 4096);
  add_container(command, options->container);
  add_machine(command, options->machine);
  add_lanes_at_once(command, options->lanes_at_once);
  add_quiet(command, options->quiet);
  add_json(command, options->json);
  command.footer(
      "Example: lockstep replay runs/fashion-mnist-ddpm --from 301 --to 310\n"
      "Starts from the nearest checkpoint before the window. Exit codes: 0 PASS, 1 FAIL.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
