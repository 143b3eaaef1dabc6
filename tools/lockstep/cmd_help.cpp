#include "arguments.h"
#include "command.h"
#include "command_line.h"
#include "output.h"

namespace lockstep::cli {

Run add_help(CLI::App& app) {
  const auto command = std::make_shared<std::string>();
  app.add_option("command", *command, "a command; none: all of them in short");
  app.footer("Example: lockstep help train");
  return [&app, command] {
    const CLI::App& all = *app.get_parent();
    if (command->empty()) {
      print_lines(help_of(all));
      return Code::kOk;
    }
    for (const CLI::App* one : commands_of(all)) {
      if (one->get_name() != *command) continue;
      print_lines(help_of(*one));
      return Code::kOk;
    }
    no_such_command(all, *command);
  };
}

}  // namespace lockstep::cli
