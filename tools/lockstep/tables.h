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

}  // namespace lockstep::cli
