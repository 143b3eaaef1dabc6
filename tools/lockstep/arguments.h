// What a command line may hold: help, completion and the manual are made of this, so that none of
// them is written twice.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace lockstep::cli {

struct Argument {
  std::vector<std::string> names;    // "-V", "--version"; of a positional one: "RECIPE"
  std::string value;                 // "N", "FILE", "none|optimizer"; "" of a flag or positional
  std::vector<std::string> choices;  // where there are no other values
  std::string what;
  std::string preset;  // the default; "" where there is none
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
// The program that the command is of. Complete when all commands have declared themselves.
Program program_of(const Command& command);

bool is_flag(const CLI::Option& option);
Argument argument_of(const CLI::Option& option);
std::vector<const CLI::App*> commands_of(const CLI::App& app);

// Makes every option and argument of the command refuse what nobody means: an empty text, another
// option as a value (`--run --quiet`), a number that is not written in decimal digits (CLI11 reads
// 010 as 8).
void refuse_nonsense(CLI::App& command);

// What `lockstep help`, or `lockstep help COMMAND`, prints.
std::string help_of(const CLI::App& app);

}  // namespace lockstep::cli
