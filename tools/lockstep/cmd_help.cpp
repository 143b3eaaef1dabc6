#include "arguments.h"
#include "command.h"
#include "command_line.h"
#include "output.h"

namespace lockstep::cli {

Run add_help(Command& command) {
  const auto name = std::make_shared<std::string>();
  command.add_option("command", *name, "a command; none: all of them in short");
  command.footer("Example: lockstep help train");
  return [command, name] {
    const Program program = program_of(command);
    if (name->empty()) {
      print_lines(program.self.help);
      return Code::kOk;
    }
    std::vector<std::string> names;
    for (const Description& one : program.commands) {
      names.push_back(one.name);
      if (one.name != *name) continue;
      print_lines(one.help);
      return Code::kOk;
    }
    no_such_command(names, *name);
  };
}

}  // namespace lockstep::cli
