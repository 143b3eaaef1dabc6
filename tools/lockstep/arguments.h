// What a command line may hold. Help, completion and the manual are all made from this.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace lockstep::cli {

struct Argument {
  std::vector<std::string> names;    // "-V", "--version"; for a positional one: "RECIPE"
  std::string value;                 // "N", "FILE", "none|optimizer"; "" for a flag or positional
  std::vector<std::string> choices;  // if there are no other values
  std::string what;
  std::string preset;  // the default; "" if there is none
  bool positional = false, required = false, several = false;
};

struct Description {
  std::string name, what;
  std::vector<Argument> arguments;  // positional ones first
  std::vector<std::string> footer;  // lines
  std::string help;                 // as `lockstep help NAME` prints it
};

struct Program {
  Description self;
  std::vector<Description> commands;  // in the order of the table
};
// The command's program. Complete when all commands have declared themselves.
Program program_of(const Command& command);

bool is_flag(const CLI::Option& option);
Argument argument_of(const CLI::Option& option);
std::vector<const CLI::App*> commands_of(const CLI::App& app);

// Makes every option and argument of the command refuse nonsense: an empty text, another option as
// a value (`--run --quiet`), a number not written in decimal digits (CLI11 reads 010 as 8).
void refuse_nonsense(CLI::App& command);

// What `lockstep help`, or `lockstep help COMMAND`, prints.
std::string help_of(const CLI::App& app);

}  // namespace lockstep::cli
