// Steps of a reader that goes through a text from left to right: each takes what it is asked for
// from the front of `rest`, or leaves it as it is.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace lockstep {

inline bool take(std::string_view& rest, std::string_view literal) {
  if (!rest.starts_with(literal)) return false;
  rest.remove_prefix(literal.size());
  return true;
}

// The longest number there (std::from_chars): no locale, no space before it, no '+'.
template <class T>
std::optional<T> take_number(std::string_view& rest) {
  T value{};
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

}  // namespace lockstep
