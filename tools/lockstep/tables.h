// What `lockstep help` and the manual list beside the commands.
#pragma once

#include <span>

#include "lockstep/core/error.h"

namespace lockstep::cli {

struct ExitCode {
  Code code;
  const char* what;
};
std::span<const ExitCode> exit_codes();

struct Listed {
  const char* name;
  const char* what;
};
// The environment variables that the program reads.
std::span<const Listed> variables();
// What a run's folder holds.
std::span<const Listed> run_files();
// Options that other programs have and `train` has not: without dashes, and what to do instead.
std::span<const Listed> other_programs_options();

}  // namespace lockstep::cli
