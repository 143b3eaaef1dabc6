#include "values.h"

#include <algorithm>

#include "lockstep/core/text.h"
#include "output.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kWidest = 40;  // characters of a bar

std::string range(std::size_t i) {
  const std::uint64_t first = std::uint64_t{1} << i;
  return first == 1 ? "1" : std::to_string(first) + "-" + std::to_string(2 * first - 1);
}

}  // namespace

Json values_json(const state::ValueDifference& values) {
  Json out = {{"elements", values.elements},     {"different", values.different},
              {"first", values.first},           {"a", to_text(values.a)},
              {"b", to_text(values.b)},          {"largest_ulp", values.largest},
              {"not_finite", values.not_finite}, {"histogram", Json::object()}};
  for (std::size_t i = 0; i < values.histogram.size(); ++i)
    if (values.histogram[i] > 0) out["histogram"][range(i)] = values.histogram[i];
  return out;
}

std::string median_ulps(const state::ValueDifference& values) {
  const std::int64_t finite = values.different - values.not_finite;
  std::int64_t below = 0;
  for (std::size_t i = 0; i < values.histogram.size(); ++i) {
    below += values.histogram[i];
    if (finite > 0 && 2 * below >= finite) return range(i);
  }
  return "-";
}

std::string histogram(const state::ValueDifference& values) {
  const std::int64_t most = std::max<std::int64_t>(1, std::ranges::max(values.histogram));
  std::string text;
  const auto line = [&](const std::string& name, std::int64_t count) {
    if (count == 0) return;
    text += right(name, 22) + "  " +
            std::string(static_cast<std::size_t>(std::max<std::int64_t>(1, kWidest * count / most)),
                        '#') +
            "  " + std::to_string(count) + "\n";
  };
  for (std::size_t i = 0; i < values.histogram.size(); ++i) line(range(i), values.histogram[i]);
  line("NaN or infinite", values.not_finite);
  return text;
}

std::string brief(const std::string& fact) {
  if (fact.empty()) return "-";
  const bool hash =
      fact.size() == 64 && fact.find_first_not_of("0123456789abcdef") == std::string::npos;
  return hash ? fact.substr(0, 12) : fact;
}

}  // namespace lockstep::cli
