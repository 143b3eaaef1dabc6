// What the writer and the checker of PNG share. Private.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lockstep/core/bytes.h"

namespace lockstep::data::png {

inline constexpr std::array<std::uint8_t, 8> kSignature{0x89, 'P',  'N',  'G',
                                                        '\r', '\n', 0x1a, '\n'};
inline constexpr std::size_t kChunkOverhead = 12;   // length, type, CRC
inline constexpr std::uint8_t kGrey = 0, kRgb = 2;  // colour types

// A keyword of 1..79 characters, a NUL and the text.
inline constexpr std::string_view kText = "tEXt";

}  // namespace lockstep::data::png
