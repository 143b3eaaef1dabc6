#include "monitor/robust_score.h"

#include <algorithm>

namespace lockstep::monitor {
namespace {

constexpr double kDeviations = 1.4826;  // of a normal distribution's MAD

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<double> RobustScore::of(double x) {
  std::optional<double> score;
  if (last_.size() == window_) {
    std::vector<double> values(last_.begin(), last_.end());
    const double centre = median(values);
    for (double& value : values) value = value < centre ? centre - value : value - centre;
    const double spread = kDeviations * median(std::move(values));
    if (spread > 0) score = (x - centre) / spread;
  }
  if (x - x == 0) last_.push_back(x);
  if (last_.size() > window_) last_.pop_front();
  return score;
}

}  // namespace lockstep::monitor
