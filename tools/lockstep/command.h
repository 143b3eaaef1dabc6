// A subcommand: declares its options on a CLI11 app and returns what runs when it was chosen. The
// returned function gives the process's exit code (core/error.h) and throws Error.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "lockstep/comm/identity.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

using Run = std::function<Code()>;

// The explicit table is in command_line.cpp.
Run add_train(CLI::App& app);
Run add_sample(CLI::App& app);
Run add_verify(CLI::App& app);
Run add_replay(CLI::App& app);
Run add_report(CLI::App& app);
Run add_inspect(CLI::App& app);
Run add_pack(CLI::App& app);
Run add_keygen(CLI::App& app);
Run add_fingerprint(CLI::App& app);
Run add_doctor(CLI::App& app);
Run add_check(CLI::App& app);
Run add_diff(CLI::App& app);
Run add_bisect(CLI::App& app);
Run add_trace(CLI::App& app);
Run add_help(CLI::App& app);
Run add_completion(CLI::App& app);
Run add_man(CLI::App& app);

// --threads, 0 for one a core; the number to use where `ranks` of them share the machine.
void add_threads(CLI::App& app, int& threads);
int threads_to_use(int asked, int ranks = 1);

comm::Environment process_environment();

}  // namespace lockstep::cli
