#include "command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "lockstep/core/list.h"
#include "lockstep/core/text.h"

namespace lockstep::cli {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::value(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::range(std::int64_t least, std::int64_t most) {
  return check([least, most](const std::string& text) {
    const auto number = parse_int(text);
    return number && *number >= least && *number <= most
               ? ""
               : text + " is out of range: it may be " + std::to_string(least) + " to " +
                     std::to_string(most);
  });
}

Option& Option::one_of(const std::vector<std::string>& words) {
  const std::string list = joined(words, ",");
  const auto complaint = [words](const std::string& text) {
    return std::ranges::find(words, text) != words.end()
               ? ""
               : "it may be " + joined(words, " or ") + ", not '" + text + "'";
  };
  option_->check(CLI::Validator(complaint, "{" + list + "}"));  // which argument_of reads
  return *this;
}

Option& Option::check(std::function<std::string(const std::string&)> complaint) {
  option_->check(std::move(complaint));
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::repeated() {
  option_->allow_extra_args(false);
  return *this;
}

template <class Value>
Option Command::add_option(const std::string& names, Value& value, const std::string& what) {
  return Option(*app_.add_option(names, value, what));
}

using Texts = std::vector<std::string>;
using Path = std::filesystem::path;
template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&);
template Option Command::add_option(const std::string&, Texts&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<Path>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<Path>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::string>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, std::optional<int>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::int64_t>&,
                                    const std::string&);

Option Command::add_flag(const std::string& names, bool& value, const std::string& what) {
  return Option(*app_.add_flag(names, value, what)->disable_flag_override());
}

void Command::add_instead(const std::string& name, std::function<void()> run,
                          const std::string& what) {
  const auto ending = [run = std::move(run)] {
    run();
    throw CLI::Success();
  };
  app_.add_flag_callback(name, ending, what);
}

void Command::footer(const std::string& text) {
  app_.footer(text);
}

}  // namespace lockstep::cli
