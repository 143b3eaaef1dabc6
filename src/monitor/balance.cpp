#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/text.h"
#include "lockstep/monitor/monitor.h"

namespace lockstep::monitor {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string named(const std::vector<std::size_t>& classes) {
  std::string line = classes.size() == 1 ? "class " : "classes ";
  for (std::size_t i = 0; i < std::min(classes.size(), kMostNamed); ++i)
    line += (i == 0 ? "" : ", ") + std::to_string(classes[i]);
  if (classes.size() > kMostNamed)
    line += " and " + std::to_string(classes.size() - kMostNamed) + " more";
  return line;
}

}  // namespace

std::vector<std::string> imbalance(const Options& options, std::span<const std::int64_t> counts) {
  std::vector<std::string> lines;
  if (options.warn_imbalance == 0) return lines;
  std::vector<std::size_t> empty, some;
  for (std::size_t i = 0; i < counts.size(); ++i) (counts[i] == 0 ? empty : some).push_back(i);
  if (!empty.empty())
    lines.push_back("balance: " + named(empty) + " of " + std::to_string(counts.size()) +
                    (empty.size() == 1 ? " has" : " have") +
                    " no samples: nothing can be learnt of " + (empty.size() == 1 ? "it" : "them") +
                    " (labels begin with 0)");
  if (some.empty()) return lines;
  const auto [least, most] =
      std::ranges::minmax(some, {}, [&](std::size_t i) { return counts[i]; });
  const double times = static_cast<double>(counts[most]) / static_cast<double>(counts[least]);
  if (times > options.warn_imbalance)
    lines.push_back("balance: class " + std::to_string(most) + " has " +
                    counted(counts[most], "sample") + ", class " + std::to_string(least) + " has " +
                    std::to_string(counts[least]) + ": " + fixed(times, 1) +
                    " times as many, beyond warn_imbalance = " + to_text(options.warn_imbalance));
  return lines;
}

}  // namespace lockstep::monitor
