#include "train/straggler.h"

#include <algorithm>

#include "lockstep/core/text.h"

namespace lockstep::train {
namespace {

constexpr double kWindow = 5, kSlow = 1.5;

}  // namespace

std::optional<std::string> Straggler::after(const std::vector<double>& seconds) {
  sums_.resize(seconds.size());
  for (std::size_t r = 0; r < sums_.size(); ++r) sums_[r] += seconds[r];
  ++steps_;
  const auto a_lane = [&](std::size_t r) {
    const Rank rank(static_cast<std::int64_t>(r));
    return sums_[r] / static_cast<double>(plan_.partition().lanes_of(rank).count);
  };
  std::size_t slowest = 0;
  for (std::size_t r = 1; r < sums_.size(); ++r) {
    if (a_lane(r) > a_lane(slowest)) slowest = r;
  }
  if (sums_.size() < 2 || sums_[slowest] < kWindow) return std::nullopt;

  std::vector<double> others;
  for (std::size_t r = 0; r < sums_.size(); ++r) {
    if (r != slowest) others.push_back(a_lane(r));
  }
  std::ranges::nth_element(others, others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2));
  const double ratio = a_lane(slowest) / others[others.size() / 2];
  const std::int64_t steps = steps_;
  sums_.clear();
  steps_ = 0;
  if (!(ratio > kSlow)) return std::nullopt;
  return "rank " + std::to_string(slowest) + " is slow: in the last " + std::to_string(steps) +
         " steps it computed " + fixed(ratio, 1) +
         " times as long per lane as the others, which waited for it";
}

}  // namespace lockstep::train
