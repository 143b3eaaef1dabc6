// Mean, deviation and range of values: whether data are standardised. For people; in binary64.
#pragma once

#include <cstdint>

namespace lockstep::data {

class Moments {
 public:
  void add(float value);              // Welford 1962
  void merge(const Moments& others);  // Chan, Golub and LeVeque 1979

  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }
  double deviation() const;  // sqrt of the mean of squared distances from the mean
  float least() const { return least_; }
  float most() const { return most_; }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;  // of distances from the mean
  float least_ = 0, most_ = 0;
};

// Far from mean 0 and deviation 1, for which networks' first weights, noise and learning rates are
// made: |mean| > 1, or a deviation outside [0.25, 4].
bool far_from_standard(const Moments& moments);

}  // namespace lockstep::data
