#include "lockstep/data/moments.h"

#include <algorithm>

#include "lockstep/numerics/host_math.h"

namespace lockstep::data {
namespace {

constexpr double kMostMean = 1, kLeastDeviation = 0.25, kMostDeviation = 4;

}  // namespace

void Moments::add(float value) {
  least_ = count_ == 0 ? value : std::min(least_, value);
  most_ = count_ == 0 ? value : std::max(most_, value);
  const double far = value - mean_;
  mean_ += far / static_cast<double>(++count_);
  squares_ += far * (value - mean_);
}

void Moments::merge(const Moments& others) {
  if (others.count_ == 0) return;
  if (count_ == 0) {
    *this = others;
    return;
  }
  const auto mine = static_cast<double>(count_), theirs = static_cast<double>(others.count_);
  const double far = others.mean_ - mean_, all = mine + theirs;
  squares_ += others.squares_ + far * far * (mine * theirs / all);
  mean_ += far * (theirs / all);
  count_ += others.count_;
  least_ = std::min(least_, others.least_);
  most_ = std::max(most_, others.most_);
}

double Moments::deviation() const {
  return count_ == 0 ? 0 : numerics::host::sqrt(squares_ / static_cast<double>(count_));
}

bool far_from_standard(const Moments& moments) {
  const double mean = moments.mean(), deviation = moments.deviation();
  return mean < -kMostMean || mean > kMostMean || deviation < kLeastDeviation ||
         deviation > kMostDeviation;
}

}  // namespace lockstep::data
