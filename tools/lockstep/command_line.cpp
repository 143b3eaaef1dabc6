#include "command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "arguments.h"
#include "environment.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "output.h"
#include "startup.h"
#include "tables.h"

namespace lockstep::cli {
namespace {

using Words = std::vector<std::string>;

struct Row {
  const char* group;
  const char* name;
  const char* what;
  Run (*add)(Command&);
};

constexpr const char* kTraining = "Training";
constexpr const char* kEvidence = "Evidence";
constexpr const char* kMachines = "Machines against each other";
constexpr const char* kProgram = "This program";

constexpr Row kCommands[] = {
    {kTraining, "train", "train a recipe, or continue its run (the same command again)", add_train},
    {kTraining, "sample", "make pictures from a run or a checkpoint", add_sample},
    {kTraining, "eval",
     "measure how far a run's samples are from its data, or a classifier's accuracy", add_eval},
    {kTraining, "export", "write a run's weights as safetensors, for other programs", add_export},
    {kTraining, "report",
     "write one HTML page about a run: curves, samples, evidence, environments", add_report},
    {kTraining, "inspect", "show what a run's folder or any file that lockstep makes holds",
     add_inspect},
    {kTraining, "pack", "write a data set with a content hash: one HDF5 file, or shards", add_pack},
    {kEvidence, "verify", "check a run's or a checkpoint's evidence against itself", add_verify},
    {kEvidence, "replay", "recompute steps of a run and compare them with its ledger", add_replay},
    {kEvidence, "keygen", "make a pair of keys, to sign runs and to verify them", add_keygen},
    {kMachines, "doctor", "check machine and network before a job, by one process or by all ranks",
     add_doctor},
    {kMachines, "check", "the nodes of a job against each other: do they compute the same bits?",
     add_check},
    {kMachines, "fingerprint", "show what this machine is, with a numeric self-test",
     add_fingerprint},
    {kMachines, "diff",
     "what differs between two runs, checkpoints, pictures, recipes or fingerprints", add_diff},
    {kMachines, "bisect",
     "the first operation of a step whose output differs between two environments", add_bisect},
    {kMachines, "rounding", "what integer products do to the operands of a step", add_rounding},
    {kMachines, "trace", "compute a step again with a digest of every operation", add_trace},
    {kProgram, "help", "show all commands, or the options of one", add_help},
    {kProgram, "completion", "print what lets bash or zsh complete a command line", add_completion},
    {kProgram, "man", "print the manual page", add_man},
};

std::string footer() {
  std::string text =
      "`lockstep help COMMAND` shows a command's options and an example.\n\nExit codes:";
  for (const ExitCode& one : exit_codes())
    text += "\n" + right(std::to_string(static_cast<int>(one.code)), 5) + "  " + one.what;
  text += "\n\nEnvironment:";
  for (const Listed& one : variables())
    if (std::string_view(one.name).starts_with("LOCKSTEP_"))
      text += "\n  " + left(one.name, 20) + "  " + one.what;
  return text + "\n  Those of launchers and a run's files: `lockstep man`.";
}

std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

// dashes: shown before the candidate. Candidates come without them: dashes make no two words alike.
std::string hint_of(const std::string& word, const Words& candidates, const std::string& where,
                    const std::string& dashes = {}) {
  const auto candidate = nearest_word(word, candidates);
  const std::string help = "`" + where + "` shows all";
  return candidate ? "did you mean " + quoted(dashes + *candidate) + "? " + help : help;
}

// The command's long options, without dashes.
Words options_of(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  return names;
}

// A word before the command that is not a command.
[[noreturn]] void not_a_command(const CLI::App& app, const std::string& word) {
  Words names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  if (!word.starts_with("-")) no_such_command(names, word);
  throw Error(Code::kUsage, "there is no option " + word + " before the command",
              "a command's options come after it");
}

// A word after the command that does not belong there. literal: after "--", so not an option.
[[noreturn]] void unexpected(const CLI::App& command, const std::string& word, bool literal) {
  const std::string name = command.get_name(), option = word.substr(0, word.find('='));
  if (word.starts_with("-") && !literal) {
    const std::string bare = option.substr(std::min(option.find_first_not_of('-'), option.size()));
    std::string hint = hint_of(bare, options_of(command), "lockstep help " + name, "--");
    if (name == "train") {
      for (const Listed& other : other_programs_options())
        if (bare == other.name) hint = other.what;
    }
    throw Error(Code::kUsage, name + " has no option " + option, hint);
  }
  throw Error(Code::kUsage, name + ": " + quoted(word) + " is one argument too many",
              "`lockstep help " + name + "` shows how");
}

// What is wrong with a line whose every word has its place.
std::string complaint(const CLI::App& command, const Words& words, const CLI::ParseError& error) {
  for (const CLI::Option* option : command.get_options()) {
    const Argument argument = argument_of(*option);
    const std::string& name = argument.names.back();
    if (argument.required && option->count() == 0) return name + " is missing";
    const auto has_value = [&](const std::string& word) { return word.starts_with(name + "="); };
    if (is_flag(*option) && std::ranges::any_of(words, has_value)) return name + " takes no value";
    if (!is_flag(*option) && !argument.several && option->count() > 1)
      return name + " is given more than once";
    if (!argument.value.empty() && words.back() == name) return name + " has no value";
    const std::string own = option->get_name() + ": ", text = error.what();  // CLI11's beginning
    if (argument.positional && text.starts_with(own)) return name + ": " + text.substr(own.size());
  }
  return error.what();
}

// A variable that nobody reads, and is nearly one of ours. One rank says so.
void warn_of_mistyped_variables() {
  if (process_environment()("LOCKSTEP_PARENT") || !speaks()) return;  // who started it has said so
  const std::string prefix = "LOCKSTEP_";
  std::vector<std::string> known;  // without it
  for (const Listed& one : variables())
    if (std::string_view(one.name).starts_with(prefix))
      known.push_back(std::string(one.name).substr(prefix.size()));
  for (const std::string& name : names_of_variables(prefix)) {
    const std::string own = name.substr(prefix.size());
    if (std::ranges::find(known, own) != known.end()) continue;
    if (const auto meant = nearest_word(own, known))
      log::warn("the variable " + name + " is not read (did you mean " + prefix + *meant + "?)");
  }
}

// In every thread by the instruction set that LOCKSTEP_ISA asks for.
Run computing(const Run& run) {
  return [run] {
    warn_of_mistyped_variables();
    require_open_files(/*world=*/1);
    const auto isa = process_environment()("LOCKSTEP_ISA");
    try {
      numerics::set_usual_isa(numerics::isa_named(isa));
    } catch (const Error& error) {
      if (!isa) throw;
      throw error.within("LOCKSTEP_ISA");
    }
    const ComputingScope alone({.threads = 1});
    return run();
  };
}

[[noreturn]] void refuse(const CLI::App& app, const Words& words, const CLI::ParseError& error) {
  const auto parsed = app.get_subcommands();
  const auto mark = std::ranges::find(words, "--");
  const auto literal = [&](const std::string& word) {
    return std::find(mark, words.end(), word) != words.end();
  };
  for (const std::string& word : app.remaining())
    if (word != "--" && (parsed.empty() || !literal(word))) not_a_command(app, word);
  if (parsed.empty())
    throw Error(Code::kUsage, "a command is missing", "`lockstep help` shows all");
  const CLI::App& command = *parsed.front();
  for (const std::string& word : app.remaining(/*recurse=*/true))
    if (word != "--") unexpected(command, word, literal(word));
  throw Error(Code::kUsage, command.get_name() + ": " + complaint(command, words, error),
              "`lockstep help " + command.get_name() + "` shows how");
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "Trains diffusion models and GANs so that a run can be repeated, checked and trusted.",
          "lockstep")) {
  app_->require_subcommand(1);
  app_->set_help_flag("-h,--help", "print this and exit");
  app_->set_version_flag("-V,--version", LOCKSTEP_VERSION, "print the version and exit");
  app_->footer(footer());
  for (const Row& row : kCommands) {
    CLI::App* sub = app_->add_subcommand(row.name, row.what)->group(row.group);
    sub->option_defaults()->always_capture_default();
    Command command(*sub);
    const Run run = row.add(command);
    sub->final_callback(
        [this, run = row.group == kProgram ? run : computing(run)] { chosen_ = run; });
    refuse_nonsense(*sub);
  }
}

CommandLine::~CommandLine() = default;

Run CommandLine::parse(int argc, const char* const* argv) {
  // Most likely a script lost its arguments: this is no success, and prints nothing to standard
  // output.
  if (argc < 2)
    return [text = help_of(*app_)] {
      std::cerr << text;
      return Code::kUsage;
    };
  const Words words(argv + 1, argv + argc);
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.ends_with('='))  // CLI11 would take the next word
      throw Error(Code::kUsage, word + " has no value");
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return [] {
      print_line(LOCKSTEP_VERSION);
      return Code::kOk;
    };
  } catch (const CLI::CallForHelp&) {
    const auto parsed = app_->get_subcommands();
    return [text = help_of(parsed.empty() ? *app_ : *parsed.front())] {
      print_lines(text);
      return Code::kOk;
    };
  } catch (const CLI::Success&) {
    return [] { return Code::kOk; };
  } catch (const CLI::ParseError& error) {
    refuse(*app_, words, error);
  }
  return chosen_;
}

void no_such_command(const Words& names, const std::string& name) {
  throw Error(Code::kUsage, "there is no command " + quoted(name),
              hint_of(name, names, "lockstep help"));
}

bool wants_json(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + std::max(argc, 1),
                     [](std::string_view word) { return word == "--json"; });
}

}  // namespace lockstep::cli
