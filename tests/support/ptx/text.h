// Small pieces of PTX's text.
#pragma once

#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::test::ptx {

inline bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
inline bool only_space(std::string_view text) {
  for (const char c : text)
    if (!is_space(c)) return false;
  return true;
}
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}
inline bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

// Up to the first byte that is of no number: decimal, with a sign or not, or 0x…
inline std::uint64_t number_of(std::string_view text) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return negative ? 0 - value : value;
}

// Of a function: what stands before the last opening parenthesis of its parameters.
inline std::string name_of_head(std::string_view head) {
  std::size_t close = head.rfind(')');
  std::size_t open = head.rfind('(', close);
  if (open == head.npos) open = head.size();
  std::string_view before = trimmed(head.substr(0, open));
  std::size_t start = before.size();
  while (start > 0 && in_name(before[start - 1])) --start;
  return std::string(before.substr(start));
}

}  // namespace lockstep::test::ptx
