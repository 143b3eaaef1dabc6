// Private: how far a value lies from those before it, in robust standard deviations.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace lockstep::monitor {

// The lower one of two in the middle: no mean, so nothing is rounded. At least one value.
double median(std::vector<double> values);

// (x - median) / (1.4826 MAD) of the last `window` values before x (Iglewicz & Hoaglin 1993, with
// the factor that makes the median absolute deviation a normal distribution's standard deviation):
// a few outliers move neither. Bits: the values, in their order.
class RobustScore {
 public:
  explicit RobustScore(std::size_t window) : window_(window) {}
  // Nothing while fewer than `window` finite values are known, or while they are all the same; x
  // counts from then on, if it is finite.
  std::optional<double> of(double x);

 private:
  std::size_t window_;
  std::deque<double> last_;
};

}  // namespace lockstep::monitor
