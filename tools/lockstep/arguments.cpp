#include "arguments.h"

#include <CLI/CLI.hpp>

#include "lockstep/core/list.h"
#include "lockstep/core/text.h"

namespace lockstep::cli {
namespace {

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// CLI11 has "TEXT:{none,optimizer}".
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

// The option's own name for its values, without CLI11's remarks about its checks.
std::string name_of_value(const CLI::Option& option) {
  const std::string type = option.get_type_name(), name = type.substr(0, type.find(':'));
  return name == "INT" ? "N" : name;
}

// Every other option takes a text.
bool is_number(const CLI::Option& option) {
  const std::string name = name_of_value(option);
  return name == "N" || name == "STEP";
}

std::string sane_number(std::string& text) {
  const auto number = parse_int(text);
  if (!number && !text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
    return text + " is too large";
  if (!number) return "'" + text + "' is not a whole number, such as 100";
  text = std::to_string(*number);
  return {};
}

std::string sane_text(const std::string& text) {
  return text.empty() ? "it is empty" : std::string();
}

std::string sane_value(const std::string& text) {
  return text.starts_with("--") ? "'" + text + "' stands where its value should" : sane_text(text);
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { label("Positionals", "Arguments"); }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return positional ? argument_of(*option).names.front()
                      : joined(argument_of(*option).names, ", ");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const Argument argument = argument_of(*option);
    std::string text = argument.value.empty() ? "" : " " + argument.value;
    if (!argument.preset.empty()) text += " [" + argument.preset + "]";
    return text;
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (app->get_parent() == nullptr) return "\nUsage: " + name + " COMMAND …\n";
    return "\n" + CLI::Formatter::make_usage(app, name);
  }
  // Without CLI11's remark about the number of commands.
  std::string make_description(const CLI::App* app) const override {
    return app->get_description() + "\n";
  }
};

std::vector<Argument> arguments_of(const CLI::App& command) {
  std::vector<Argument> positional, options;
  for (const CLI::Option* option : command.get_options())
    (option->get_positional() ? positional : options).push_back(argument_of(*option));
  positional.insert(positional.end(), options.begin(), options.end());
  return positional;
}

Description description_of(const CLI::App& app) {
  return {app.get_name(), app.get_description(), arguments_of(app),
          CLI::detail::split(app.get_footer(), '\n'), help_of(app)};
}

}  // namespace

Program program_of(const Command& command) {
  const CLI::App& all = *command.app().get_parent();
  Program program{description_of(all), {}};
  for (const CLI::App* one : commands_of(all)) program.commands.push_back(description_of(*one));
  return program;
}

bool is_flag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

Argument argument_of(const CLI::Option& option) {
  Argument argument;
  argument.positional = option.get_positional();
  if (argument.positional) argument.names.push_back(upper(option.get_name(true)));
  for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  argument.choices = choices_of(option.get_type_name());
  if (!argument.positional && !is_flag(option))
    argument.value =
        argument.choices.empty() ? name_of_value(option) : joined(argument.choices, "|");
  argument.what = option.get_description();
  if (!is_flag(option)) argument.preset = option.get_default_str();
  if (argument.preset == "[]") argument.preset.clear();  // an empty list
  argument.required = option.get_required();
  argument.several = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  return argument;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void refuse_nonsense(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (is_flag(*option)) continue;
    if (is_number(*option))
      option->transform(CLI::Validator(sane_number, ""));
    else
      option->transform(CLI::Validator(option->get_positional() ? sane_text : sane_value, ""));
  }
}

std::string help_of(const CLI::App& app) {
  static const HelpFormatter formatter;
  const std::string name = app.get_parent() == nullptr ? "lockstep" : "lockstep " + app.get_name();
  return formatter.make_help(&app, name, CLI::AppFormatMode::Normal);
}

}  // namespace lockstep::cli
