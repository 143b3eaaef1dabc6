// A subcommand declares its options on a Command and returns the function that runs if it is
// chosen. That function returns the process's exit code (core/error.h) and throws Error.
//
// CLI11 parses the line. Its header costs a file 8 s of compilation, so commands see only this.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device.h"
#include "lockstep/core/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep::cli {

using Run = std::function<Code()>;

// An option or argument that is being declared.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}
  Option& required();
  // What help calls its value: FILE, STEP. By default N for a number, otherwise TEXT.
  Option& value(const std::string& name);
  Option& range(std::int64_t least, std::int64_t most);
  Option& one_of(const std::vector<std::string>& words);
  // complaint: returns "" for a right value, else what is wrong with it.
  Option& check(std::function<std::string(const std::string&)> complaint);
  Option& needs(const Option& other);
  // For a list: one value each time that the option is given.
  Option& repeated();

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}
  // names: "-q,--quiet"; "recipe" for an argument. Value: a text, a path, an int, an
  // std::int64_t, or an optional or vector of these; what it holds is the default.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& what);
  Option add_flag(const std::string& names, bool& value, const std::string& what);
  // Runs instead of the command, even if the line lacks arguments.
  void add_instead(const std::string& name, std::function<void()> run, const std::string& what);
  // Lines below the options; "Example: …" is shown in the manual, too.
  void footer(const std::string& text);

  CLI::App& app() const { return app_; }

 private:
  CLI::App& app_;
};

// The explicit table is in command_line.cpp.
Run add_train(Command& command);
Run add_sample(Command& command);
Run add_eval(Command& command);
Run add_export(Command& command);
Run add_verify(Command& command);
Run add_replay(Command& command);
Run add_report(Command& command);
Run add_inspect(Command& command);
Run add_pack(Command& command);
Run add_keygen(Command& command);
Run add_fingerprint(Command& command);
Run add_doctor(Command& command);
Run add_check(Command& command);
Run add_diff(Command& command);
Run add_bisect(Command& command);
Run add_rounding(Command& command);
Run add_trace(Command& command);
Run add_help(Command& command);
Run add_completion(Command& command);
Run add_man(Command& command);

// --device and --threads; the latter alone.
void add_machine(Command& command, Machine& machine);
void add_device(Command& command, std::string& device);
void add_threads(Command& command, int& threads);
// --lanes-at-once, 0 for all of the process's.
void add_lanes_at_once(Command& command, std::int64_t& lanes);
// --json, --quiet.
void add_json(Command& command, bool& json);
// data: a string, or an optional one.
template <class Text>
void add_data(Command& command, Text& data) {
  command.add_option("--data", data, "where the data set lies, if not where the recipe says")
      .value("PATH");
}
void add_quiet(Command& command, bool& quiet);

}  // namespace lockstep::cli
