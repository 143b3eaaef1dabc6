// The program's command line: the table of commands, and the errors for a line that does not fit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command.h"

namespace lockstep::cli {

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Returns what the line asks for; --help and --version are something to run, too. Throws
  // Error(kUsage), which names what does not fit and what is nearest to it.
  Run parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
  Run chosen_;
};

// "there is no command 'verfy' (did you mean 'verify'? …)".
[[noreturn]] void no_such_command(const std::vector<std::string>& commands,
                                  const std::string& name);

// Whether --json is anywhere in the line, even in one that cannot be parsed.
bool wants_json(int argc, const char* const* argv);

}  // namespace lockstep::cli
