// Texts as TOML quotes them.
#pragma once

#include <string>

namespace lockstep::recipe {

// A basic TOML string: quotes, and escapes for quotes, backslashes and control characters. `value`
// is UTF-8 and otherwise stays as it is.
std::string quoted(const std::string& value);

}  // namespace lockstep::recipe
