// What the writer and the checker of PNG share. Private.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "lockstep/core/bytes.h"

namespace lockstep::data::png {

inline constexpr std::array<std::uint8_t, 8> kSignature{0x89, 'P',  'N',  'G',
                                                        '\r', '\n', 0x1a, '\n'};
inline constexpr std::size_t kChunkOverhead = 12;   // length, type, CRC
inline constexpr std::size_t kStoredBlock = 65535;  // the largest that deflate allows
inline constexpr std::uint8_t kGrey = 0, kRgb = 2;  // colour types

// A keyword of 1..79 characters, a NUL and the text.
inline constexpr std::string_view kText = "tEXt";

// Both bytes of the zlib header, and the header of a stored block of n bytes.
inline constexpr std::array<std::uint8_t, 2> kZlibHeader{0x78, 0x01};
inline std::array<std::uint8_t, 5> block_header(std::size_t n, bool last) {
  const auto low = static_cast<std::uint8_t>(n & 0xff), high = static_cast<std::uint8_t>(n >> 8);
  return {static_cast<std::uint8_t>(last ? 1 : 0), low, high, static_cast<std::uint8_t>(~low),
          static_cast<std::uint8_t>(~high)};
}

inline bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}
inline bool is_key(std::string_view text) {
  return !text.empty() && text.size() < 80 && printable(text);
}

}  // namespace lockstep::data::png
