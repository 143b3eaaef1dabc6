#include <algorithm>

#include "arguments.h"
#include "command.h"
#include "lockstep/core/list.h"
#include "output.h"

namespace lockstep::cli {
namespace {

using Words = std::vector<std::string>;

Words names_of(const Program& program) {
  Words names;
  for (const Description& command : program.commands) names.push_back(command.name);
  return names;
}

// What may stand where a command's first argument does; {} where it is a file or anything else.
Words choices_of(const Program& program, const Description& command) {
  if (command.name == "help") return names_of(program);
  for (const Argument& argument : command.arguments)
    if (argument.positional) return argument.choices;
  return {};
}

// One branch of `case $command in`.
std::string bash_branch(const std::string& pattern, const Description& command,
                        const Words& first) {
  Words options;
  std::string values;
  for (const Argument& argument : command.arguments) {
    if (argument.positional) continue;
    options.insert(options.end(), argument.names.begin(), argument.names.end());
    if (!argument.choices.empty())
      values += " " + argument.names.back() + ") values='" + joined(argument.choices, " ") + "' ;;";
  }
  std::string text = "    " + pattern + ")\n      options='" + joined(options, " ") + "' values='" +
                     joined(first, " ") + "'\n";
  if (!values.empty()) text += "      case $before in" + values + " esac\n";
  return text + "      ;;\n";
}

std::string bash(const Program& program) {
  std::string text = R"(# bash completion of lockstep: source <(lockstep completion bash)
_lockstep() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= options= values= i
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
  done
  case $command in
)";
  text += bash_branch("''", program.self, names_of(program));
  for (const Description& command : program.commands)
    text += bash_branch(command.name, command, choices_of(program, command));
  // Without words of ours, `-o default` completes names of files.
  return text + R"(  esac
  [[ $word == -* ]] && values=$options
  COMPREPLY=($(compgen -W "$values" -- "$word"))
}
complete -o default -F _lockstep lockstep
)";
}

// In single quotes; `special` gets a backslash.
std::string zsh_quoted(const std::string& text, std::string_view special) {
  std::string quoted;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) quoted += '\\';
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted;
}

std::string zsh_action(const Argument& argument, const Words& choices) {
  if (!choices.empty()) return "(" + joined(choices, " ") + ")";
  static const Words kNoFiles = {"N", "STEP", "HEX", "IMAGE", "WORDS"};
  return std::ranges::find(kNoFiles, argument.value) == kNoFiles.end() ? "_files" : "";
}

// What _arguments wants: '*--set=[override one key]:KEY=VALUE:_files'.
std::string zsh_specs(const Description& command, const Words& first) {
  std::string specs;
  for (const Argument& argument : command.arguments) {
    if (argument.positional) {
      specs += " \\\n      '" + std::string(argument.several ? "*" : "") + ":" +
               argument.names.front() + ":" + zsh_action(argument, first) + "'";
      continue;
    }
    for (const std::string& name : argument.names) {
      specs += " \\\n      '" + std::string(argument.several ? "*" : "") + name;
      if (!argument.value.empty()) specs += "=";
      specs += "[" + zsh_quoted(argument.what, "[]:\\") + "]";
      if (!argument.value.empty())
        specs += ":" + argument.value + ":" + zsh_action(argument, argument.choices);
      specs += "'";
    }
  }
  return specs;
}

std::string zsh(const Program& program) {
  std::string text = R"(#compdef lockstep
# zsh completion of lockstep: a file _lockstep in a folder of $fpath, or source <(lockstep completion zsh)
_lockstep() {
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    local -a commands=(
)";
  for (const Description& command : program.commands)
    text += "      '" + command.name + ":" + zsh_quoted(command.what, "") + "'\n";
  text += R"(    )
    _describe -t commands command commands
    return
  fi
  local command=$words[2]
  [[ $command == -* ]] || { shift words; ((CURRENT--)); }
  case $command in
)";
  for (const Description& command : program.commands)
    text += "    " + command.name + ")\n      _arguments" +
            zsh_specs(command, choices_of(program, command)) + "\n      ;;\n";
  text += "    *)\n      _arguments" + zsh_specs(program.self, {}) + "\n      ;;\n";
  return text + R"(  esac
}
compdef _lockstep lockstep
if [[ $funcstack[1] == _lockstep ]]; then _lockstep; fi
)";
}

}  // namespace

Run add_completion(Command& command) {
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "bash or zsh").required().one_of({"bash", "zsh"});
  command.footer("Example: source <(lockstep completion bash)");
  return [command, shell] {
    const Program program = program_of(command);
    print_lines(*shell == "bash" ? bash(program) : zsh(program));
    return Code::kOk;
  };
}

}  // namespace lockstep::cli
