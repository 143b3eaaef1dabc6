#include "lockstep/core/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kShortestTypo = 3;  // characters; with fewer, anything could be meant

template <class T>
std::string number_text(T value) {
  if (value != value) return "nan";  // without sign: a NaN's means nothing
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Characters inserted, left out, replaced, or swapped with the next one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string to_text(float value) {
  return number_text(value);
}
std::string to_text(double value) {
  return number_text(value);
}
std::optional<std::int64_t> parse_int(std::string_view text) {
  return parse_number<std::int64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  const auto value = parse_number<double>(text);
  const bool finite = value && *value - *value == 0;
  return finite ? value : std::nullopt;
}

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& candidates) {
  if (word.size() < kShortestTypo) return std::nullopt;
  std::optional<std::string> best;
  std::size_t nearest = word.size() / 3 + 1;  // less than this is near
  for (const std::string& candidate : candidates) {
    const std::size_t distance = candidate.starts_with(word) ? 0 : edit_distance(word, candidate);
    const bool shorter = best && distance == nearest && candidate.size() < best->size();
    if (distance < nearest || shorter) {
      best = candidate;
      nearest = distance;
    }
  }
  return best;
}

std::string fixed(double value, int decimals) {
  std::array<char, 512> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  return {buffer.data(), end};
}

std::string pad_number(std::int64_t value, int width) {
  std::string text = std::to_string(value);
  if (text.size() < static_cast<std::size_t>(width))
    text.insert(0, static_cast<std::size_t>(width) - text.size(), '0');
  return text;
}

std::string human_bytes(double bytes) {
  static const char* const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return fixed(bytes, 1) + " " + kUnits[unit];
}

std::string human_seconds(double seconds) {
  const auto total = static_cast<std::int64_t>(seconds);
  const std::int64_t days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60;
  if (days)
    return std::to_string(days) + "d " + pad_number(hours, 2) + "h " + pad_number(minutes, 2) + "m";
  if (hours) return std::to_string(hours) + "h " + pad_number(minutes, 2) + "m";
  if (minutes) return std::to_string(minutes) + "m " + pad_number(total % 60, 2) + "s";
  return fixed(seconds, 1) + "s";
}

}  // namespace lockstep
