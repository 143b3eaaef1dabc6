// Text <-> numbers without locale (to_chars / from_chars), and small string helpers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

std::string to_text(
    float value);  // shortest that reads back to the same bits; "nan", "inf", "-inf"
std::string to_text(double value);
std::optional<std::int64_t> parse_int(std::string_view text);  // whole string or nothing
std::optional<double> parse_double(std::string_view text);  // whole string or nothing; finite only

// The candidate nearest to `word` by edit distance, or nothing if none is close: for "did you
// mean".
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& candidates);

std::string fixed(double value, int decimals);          // "3.14"; for people only
std::string pad_number(std::int64_t value, int width);  // zero-padded: step-00000500
std::string human_bytes(double bytes);                  // "12.3 MiB"; for people only
std::string human_seconds(double seconds);              // "1d 02h 03m", "2m 05s"; for people only

}  // namespace lockstep
