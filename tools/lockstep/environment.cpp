#include "environment.h"

#include <unistd.h>

#include <cstdlib>

#include "lockstep/core/error.h"

namespace lockstep::cli {

comm::Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::vector<std::string> names_of_variables(const std::string& prefix) {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (text.starts_with(prefix)) names.push_back(text.substr(0, text.find('=')));
  }
  return names;
}

bool speaks() {
  try {
    return comm::discover(process_environment()).rank == Rank(0);
  } catch (const Error&) {
    return true;
  }
}

}  // namespace lockstep::cli
