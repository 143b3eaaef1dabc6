#include "lockstep/core/printable.h"

#include <cstdint>

namespace lockstep {
namespace {

// Separators of lines and paragraphs, and characters that change the writing direction.
bool moves_text(std::uint32_t character) {
  return character == 0x061c || (character >= 0x200e && character <= 0x200f) ||
         (character >= 0x2028 && character <= 0x202e) ||
         (character >= 0x2066 && character <= 0x2069);
}

// Bytes of the UTF-8 character at the front of `text`; 0 if there is none, or none to be shown.
std::size_t printable_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x80) return at(0) >= 0x20 && at(0) != 0x7f;
  const std::size_t n = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : 2;
  if (at(0) < 0xc2 || at(0) > 0xf4 || text.size() < n) return 0;
  std::uint32_t character = at(0) & (0xff >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (at(i) & 0x3f);
  }
  static constexpr std::uint32_t kFirst[] = {0, 0, 0xa0, 0x800, 0x10000};  // of n bytes
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  const bool valid = character >= kFirst[n] && character < 0x110000 && !surrogate;
  return valid && !moves_text(character) ? n : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string line;
  while (!text.empty()) {
    const std::size_t n = printable_bytes(text);
    if (n == 0) {
      const auto byte = static_cast<unsigned char>(text.front());
      line += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    line += text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return line;
}

}  // namespace lockstep
