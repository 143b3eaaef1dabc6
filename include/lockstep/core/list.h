// Lists in sentences for people.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

// "a, b, c": what `text` says of each, a member or a function. Without it, the words themselves.
template <class Range, class Text = std::identity>
std::string joined(const Range& all, std::string_view separator, const Text& text = {}) {
  std::string line;
  bool first = true;
  for (const auto& one : all) {
    line.append(first ? "" : separator).append(std::invoke(text, one));
    first = false;
  }
  return line;
}

// "3 x 32 x 32"
inline std::string shape_text(std::span<const std::int64_t> sides) {
  return joined(sides, " x ", [](std::int64_t side) { return std::to_string(side); });
}

}  // namespace lockstep
