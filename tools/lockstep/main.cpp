// lockstep: parse everything, then run one command. Results go to standard output, everything else
// to standard error; an Error is one line and its code the exit code.
#include <malloc.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include "command.h"
#include "lockstep/core/thread.h"
#include "lockstep/numerics/isa.h"
#include "startup.h"
#include "torchrun.h"

namespace lockstep::cli {
namespace {

struct Command {
  const char* name;
  const char* what;
  Run (*add)(CLI::App&);
};

constexpr Command kCommands[] = {
    {"train", "train a recipe, or continue its run (the same command again)", add_train},
    {"sample", "make pictures from a run or a checkpoint", add_sample},
    {"verify", "check a run's or a checkpoint's evidence against itself", add_verify},
    {"replay", "recompute steps of a run and compare them with its ledger", add_replay},
    {"report", "write one HTML page about a run: curves, samples, evidence, environments",
     add_report},
    {"inspect", "show what a recipe, ledger, checkpoint, data file or run holds", add_inspect},
    {"pack", "write a data set as one HDF5 file with a content hash", add_pack},
    {"keygen", "make a pair of keys, to sign runs and to verify them", add_keygen},
    {"fingerprint", "show what this machine is, with a numeric self-test", add_fingerprint},
    {"doctor", "check machine and network before a job, by one process or by all ranks",
     add_doctor},
    {"check", "the nodes of a job against each other: do they compute the same bits?", add_check},
    {"diff", "what differs between two runs, checkpoints, pictures, recipes or fingerprints",
     add_diff},
    {"bisect", "the first operation of a step whose output differs between two environments",
     add_bisect},
    {"trace", "compute a step again with a digest of every operation", add_trace},
};

// Large tensors come and go every step: keep their pages instead of giving them back each time.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

int run(int argc, char** argv) {
  CLI::App app{
      "Trains diffusion models and GANs so that a run can be repeated, checked and trusted."};
  app.require_subcommand(1);
  app.set_version_flag("--version", LOCKSTEP_VERSION);
  app.option_defaults()->always_capture_default();
  Run chosen;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.what);
    sub->option_defaults()->always_capture_default();
    sub->final_callback([&chosen, run = command.add(*sub)] { chosen = run; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    throw Error(Code::kUsage, error.what(), "lockstep --help shows how");
  }
  const char* isa = std::getenv("LOCKSTEP_ISA");
  numerics::select_isa(isa ? std::optional<std::string_view>(isa) : std::nullopt);
  return static_cast<int>(chosen());
}

}  // namespace

void add_threads(CLI::App& app, int& threads) {
  app.add_option("--threads", threads,
                 "threads of this process, 0: one a core; never changes a bit")
      ->check(CLI::Range(0, 4096));
}

int threads_to_use(int asked, int ranks) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks);
}

comm::Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

}  // namespace lockstep::cli

int main(int argc, char** argv) {
  using lockstep::Code;
  lockstep::cli::keep_freed_memory();
  const auto failed = [](Code code, const std::string& line) {
    // One write: ranks share this stream, and their lines must not run into each other.
    std::cerr << "lockstep: " + line + "\n";
    lockstep::cli::tell_torchrun("lockstep: " + line, lockstep::cli::process_environment());
    return static_cast<int>(code);
  };
  try {
    lockstep::cli::start_up();
    return lockstep::cli::run(argc, argv);
  } catch (const lockstep::Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(Code::kEnvironment, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(Code::kEnvironment, error.what());
  } catch (const std::system_error& error) {  // of a library
    return failed(Code::kEnvironment, lockstep::cannot_start_thread(error).what());
  } catch (const std::exception& error) {
    return failed(Code::kBug, std::string("unexpected: ") + error.what() +
                                  " (this is a bug in lockstep, please report it)");
  }
}
