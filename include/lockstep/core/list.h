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

// "a, b or c", with " or " before the last one.
inline std::string listed(std::span<const std::string> words, std::string_view last) {
  if (words.size() < 2) return joined(words, "");
  return joined(words.first(words.size() - 1), ", ").append(last).append(words.back());
}

// "3 x 32 x 32"
inline std::string shape_text(std::span<const std::int64_t> sides) {
  return joined(sides, " x ", [](std::int64_t side) { return std::to_string(side); });
}

}  // namespace lockstep
