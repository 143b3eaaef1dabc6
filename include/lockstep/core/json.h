// JSON lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep {

// One line, LF behind it. Bytes of a text that are no UTF-8 (of a path, of a setting) become
// U+FFFD.
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace lockstep
