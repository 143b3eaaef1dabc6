#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "checks.h"
#include "command.h"
#include "course.h"
#include "device.h"
#include "environment.h"
#include "given_recipe.h"
#include "lockstep/comm/survey.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/core/memory.h"
#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/fingerprint/compare.h"
#include "lockstep/fingerprint/gpus.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/numerics.h"
#include "lockstep/train/run_folder.h"
#include "output.h"
#include "ranks.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

constexpr double kLeastMemory = 256 << 20, kLeastDisk = 256 << 20;  // bytes

struct Options {
  std::string recipe, run, device = "cpu";
  bool json = false;
};

// Checks rounding and subnormals, too.
std::string arithmetic(const fingerprint::Fingerprint& facts) {
  const auto found = fingerprint::compare({{"this machine", facts}});
  for (const fingerprint::Finding& finding : found.findings)
    if (finding.matters == fingerprint::Matters::kBoth)
      throw Error(Code::kEnvironment, finding.sentence, "`lockstep check` shows all");
  numerics::Device& device = ops::device();
  return "self-test passed, kernels for " +
         (ops::tensors_device().is_cpu()
              ? "the CPU (" + std::string(numerics::name(device.host().isa())) + ")"
              : device.name());
}

std::string native(const fingerprint::Fingerprint& facts) {
  fingerprint::require_native(facts);
  return "kernels of LibTorch " + fingerprint::fact(facts, "libtorch") + " work";
}

// What a recipe's run needs of a machine.
struct Needs {
  std::unique_ptr<data::Dataset> data;
  std::unique_ptr<train::IntervalEvaluation> evaluation;  // its classifier is beside steps
  train::StepMemory step;        // of a rank, with as many lanes at once as take the least
  std::int64_t checkpoints = 0;  // bytes of those kept, and of one that is written
  train::StepTraffic traffic;    // of rank 0
};

// Opens its data and its classifier. folder: the run's, or "". Throws what `train` would.
Needs needs_of(const recipe::Recipe& recipe, const std::string& folder, const train::Ranks& ranks,
               const train::Exchanges& exchanges) {
  Needs needs;
  needs.data = data::open(recipe.data);
  const data::Dataset& dataset = *needs.data;
  if (const train::RunFolder run{folder}; !folder.empty() && std::filesystem::exists(run.ledger()))
    train::require_data(
        dataset, recipe,
        ledger::read(real_file_system(), run.ledger(), ledger::TornTail::kDrop).header.data);
  if (recipe.evaluation.every > 0)
    needs.evaluation = std::make_unique<train::IntervalEvaluation>(recipe, dataset, folder);
  const std::vector<std::int64_t> shape = dataset.sample_shape();
  const Course course = course_of(recipe, dataset.size() - recipe.data.holdout);
  train::StepWalk walk(recipe, shape, ranks, exchanges);
  std::vector<train::StepMemory> choices;
  for (const std::int64_t lanes : train::lanes_at_once_choices(recipe, ranks))
    choices.push_back(walk(lanes));
  needs.step = *std::ranges::min_element(choices, {}, &train::StepMemory::total);
  needs.checkpoints = bytes_of(course.kept + 1, size_of(recipe, shape));
  needs.traffic = walk.traffic();
  return needs;
}

std::string memory(const std::optional<Needs>& needs, int processes) {
  const std::optional<MemoryLeft> left = ops::memory_left(processes);
  if (!left) return "free memory is unknown";
  if (needs && !train::fits(needs->step, *left))
    throw Error(Code::kEnvironment,
                "a step needs at least " + train::to_text(needs->step) + ", and " + to_text(*left));
  if (!needs && left->bytes < kLeastMemory) throw Error(Code::kEnvironment, to_text(*left));
  return to_text(*left);
}

// That they suffice was asked before anything else (startup.h).
std::string open_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::to_string(limit.rlim_cur) + " allowed";
}

// A new file, removed however the trial ends.
struct Probe {
  Probe(FileSystem& its, const stdfs::path& name)
      : fs(its), path(name), file(fs.create_new(path)) {}
  ~Probe() {
    file.reset();  // and with it the lock
    discard(fs, path);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  FileSystem& fs;
  const stdfs::path path;
  std::unique_ptr<File> file;
};

// Bytes of checkpoints that a run there has already.
double written(const stdfs::path& run) {
  double bytes = 0;
  std::error_code error;
  for (const auto& file : stdfs::directory_iterator(train::RunFolder{run}.checkpoints(), error))
    bytes += static_cast<double>(file.is_regular_file(error) ? file.file_size(error) : 0);
  return bytes;
}

// Free space, and a file written, synced and locked: in the folder, or above it if there is none.
std::string run_folder(const std::string& name, const std::optional<Needs>& needs) {
  stdfs::path folder = stdfs::absolute(name);
  while (!stdfs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  FileSystem& fs = real_file_system();
  const stdfs::path path = temporary_of(folder / ".doctor");
  fs.remove_abandoned(path);  // a killed doctor's
  const double start = monotonic_seconds();
  const Probe probe(fs, path);
  probe.file->append(Bytes(4096));
  probe.file->sync();
  fs.sync_directory(folder);
  const double took = monotonic_seconds() - start;
  const bool locks = !fs.remove_abandoned(path);
  if (!locks)
    throw Error(Code::kEnvironment, folder.string() + ": its file system has no locks",
                "two commands could write to one run at once: use another file system");
  const auto free = static_cast<double>(stdfs::space(folder).available);
  if (!needs && free < kLeastDisk)
    throw Error(Code::kEnvironment, folder.string() + ": only " + human_bytes(free) + " are free");
  const double wanted =
      needs ? std::max(0.0, static_cast<double>(needs->checkpoints) - written(name)) : 0;
  if (free < wanted)
    throw Error(Code::kEnvironment,
                folder.string() + ": the run's checkpoints take " + human_bytes(wanted) + ", and " +
                    human_bytes(free) + " are free",
                "keep fewer (checkpoint.keep_last), or give another folder");
  return folder.string() + ": " + human_bytes(free) + " free" +
         (needs ? " (the run's checkpoints take " + human_bytes(wanted) + ")" : "") +
         ", written and synced in " + fixed(took * 1e3, 1) + " ms, locks work";
}

std::string address(const comm::Identity& identity, const comm::Options& options) {
  const comm::Place place = comm::look_up(identity.host, identity.port, options);
  return place.host + " is " + place.addresses +
         (place.here ? ": this host, port " + std::to_string(identity.port) + " is free" : "");
}

// Where rank 0 would be, for a process that no launcher started.
comm::Identity with_master(comm::Identity identity, const comm::Environment& environment) {
  identity.host = environment("MASTER_ADDR").value_or("");
  identity.port =
      static_cast<int>(parse_int(environment("MASTER_PORT").value_or("29500")).value_or(0));
  return identity;
}

comm::Survey check_links(const comm::Identity& identity, const comm::Options& options,
                         Checks& checks) {
  comm::Survey survey;
  checks.add("rendezvous", [&] {
    survey = comm::survey(identity, options);
    return counted(identity.world, "rank") + ", secret and credentials agree";
  });
  const auto name = [&](int rank) {
    return "rank " + std::to_string(rank) + " on " + survey.hosts[static_cast<std::size_t>(rank)];
  };
  for (const comm::Link& link : survey.links)
    checks.add(std::to_string(link.from) + " - " + std::to_string(link.to), [&] {
      if (!link.problem.empty())
        throw Error(Code::kNetwork,
                    name(link.from) + " and " + name(link.to) + ": " + link.problem);
      return name(link.from) + ", " + name(link.to) + ": " + fixed(link.round_trip * 1e6, 0) +
             " us, " + human_bytes(link.bytes_per_second) + "/s";
    });
  return survey;
}

// What a step sends, at the pace of the slowest link; a warning if the deadline is near.
void check_exchange(const train::StepTraffic& traffic, const comm::Survey& survey, double deadline,
                    Checks& checks) {
  double pace = 0;
  for (const comm::Link& link : survey.links)
    if (link.problem.empty() && (pace == 0 || link.bytes_per_second < pace))
      pace = link.bytes_per_second;
  if (pace <= 0) return;
  const auto seconds = [&](std::int64_t bytes) { return static_cast<double>(bytes) / pace; };
  const double message = seconds(traffic.longest);
  const bool near = message > deadline / 2;
  checks.list.push_back(
      {"exchange",
       "rank 0 sends about " + human_bytes(static_cast<double>(traffic.sent)) + " a step: about " +
           human_seconds(seconds(traffic.sent)) + " at the pace of the slowest link" +
           (near ? "; a message alone takes " + human_seconds(message) + ", and the deadline is " +
                       human_seconds(deadline) + ": raise LOCKSTEP_DEADLINE"
                 : ""),
       Code::kOk, near});
}

// A line for each GPU of this host, and one for each thing that deserves a look.
void check_gpus(bool wanted, Checks& checks) {
  const fingerprint::Gpus gpus = fingerprint::find_gpus();
  for (const fingerprint::Gpu& gpu : gpus.list)
    checks.list.push_back(
        {"gpu " + std::to_string(gpu.index),
         gpu.name + (gpu.uuid.empty() ? "" : ", " + gpu.uuid) + ", driver " + gpus.driver});
  if (wanted && !gpus.unknown.empty())
    checks.list.push_back(
        {"gpu", "its errors, clocks and heat are unknown: " + gpus.unknown, Code::kOk, true});
  for (const fingerprint::Warning& one : fingerprint::warnings(gpus))
    checks.list.push_back({one.subject, one.sentence, Code::kOk, true});
}

// Rank 0 gets what the others found. Whether it did.
bool tell_rank_0(Rank rank, const comm::Survey& survey, const std::string& mine, Checks& checks) {
  try {
    const std::vector<std::string> all = survey.tell(mine);
    for (std::size_t r = 1; rank == Rank(0) && r < all.size(); ++r)
      add_told("rank " + std::to_string(r), survey.hosts[r], all[r], checks);
    return true;
  } catch (const Error& error) {
    checks.list.push_back({"ranks", error.what(), error.code()});
    return false;
  }
}

// Waits until rank 0 has reported: a launcher that sees one rank fail ends the others.
void wait_for_all(const comm::Survey& survey) {
  flush_output();
  try {
    if (survey.tell) survey.tell({});
  } catch (const Error&) {  // a rank lost now is no finding: nothing was begun
  }
}

Code run(const Options& options) {
  const comm::Environment environment = process_environment();
  comm::Identity identity = comm::discover(environment);
  const bool one = identity.world == 1;
  if (one) identity = with_master(identity, environment);
  std::optional<recipe::Recipe> recipe;
  if (!options.recipe.empty())
    recipe = train::with_features_hash(given_recipe(options.recipe), options.run);
  comm::Options meeting = meeting_options(identity, environment);
  const auto look = [&] { return recipe ? train::fingerprint_for(*recipe) : fingerprint::take(); };

  Checks checks;
  std::optional<ComputingScope> computing;  // before autograd is used (ops/gpu_tensors.h)
  if (options.device != "cpu")
    checks.add("device", [&] {
      computing.emplace(Machine{.threads = 1, .device = options.device}, identity.local_size,
                        identity.local_rank);
      return ops::device().name() + ", " + ops::device().uuid();
    });
  fingerprint::Fingerprint facts;
  checks.add("arithmetic", [&] {
    facts = look();
    return arithmetic(facts);
  });
  if (recipe && recipe::is_native(*recipe)) checks.add("native", [&] { return native(facts); });
  std::optional<Needs> needs;
  if (recipe)
    checks.add("recipe", [&] {
      train::Exchanges exchanges = exchanges_on(options.device, environment);
      exchanges.rank = identity.rank;
      needs = needs_of(*recipe, options.run, {.world = identity.world}, exchanges);
      return recipe::id(*recipe).brief() +
             ", and its data: " + counted(needs->data->size(), "sample");
    });
  checks.add("memory", [&] { return memory(needs, identity.local_size); });
  checks.add("open files", open_files);
  checks.add("clock", utc_timestamp);
  if (identity.local_rank == 0) check_gpus(options.device != "cpu", checks);
  if (!options.run.empty() && identity.rank == Rank(0))
    checks.add("run folder", [&] { return run_folder(options.run, needs); });
  // The port is free until rank 0's doctor listens there.
  if (identity.rank == Rank(0) && !identity.host.empty() && meeting.listening_socket < 0)
    checks.add("rank 0", [&] { return address(identity, meeting); });
  const std::string mine = told(checks);  // all ranks know of the links
  if (!one) meeting.credentials = credentials(facts, recipe ? &*recipe : nullptr, meeting);
  comm::Survey survey;
  if (!one) survey = check_links(identity, meeting, checks);
  if (needs && identity.rank == Rank(0))
    check_exchange(needs->traffic, survey, meeting.deadline, checks);

  const bool rank_0_knows = survey.tell && tell_rank_0(identity.rank, survey, mine, checks);
  if (identity.rank == Rank(0)) print(checks, options.json);
  wait_for_all(survey);
  for (const Check& check : checks.list) {
    if (check.warning && identity.rank != Rank(0) && !rank_0_knows)
      log::warn(identity.sentence + ": " + check.name + ": " + check.detail);
    if (check.code != Code::kOk) {
      if (identity.rank != Rank(0))
        log::error(identity.sentence + ": " + check.name + ": " + check.detail);
      return check.code;
    }
  }
  return Code::kOk;
}

}  // namespace

Run add_doctor(Command& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("recipe", options->recipe,
                     "a recipe that all ranks must have in common and can train");
  command.add_option("--run", options->run, "the run's folder, whose file system is tried")
      .value("FOLDER");
  add_device(command, options->device);
  add_json(command, options->json);
  command.footer(
      "Example: LOCKSTEP_DEADLINE=10 srun lockstep doctor recipes/fashion-mnist-ddpm.toml\n"
      "Under a launcher all ranks meet and every pair is tried. Exit code: 0, or of the first "
      "check that failed.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
