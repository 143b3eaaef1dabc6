// Counts as people read them: "1 step", "2 steps".
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace lockstep {

// `many` where the count is not 1; without it, `one` and an s.
template <std::integral Count>
std::string counted(Count count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(one);
  return many.empty() ? text.append(one) + "s" : text.append(many);
}

}  // namespace lockstep
