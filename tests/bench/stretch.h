// Seconds of one run of what a GPU does behind the host. Launches, copies and waits take the host
// tens of microseconds, so many runs lie between two waits: a stretch. PyTorch's kernels are timed
// likewise (tests/bench/pytorch/stretch.py).
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace lockstep::bench {

constexpr double kStretch = 0.02;  // seconds at least: a wait is less than a percent of it
constexpr int kStretches = 7, kWarmUp = 2;

// Of a stretch of so many runs. clock: in seconds.
inline double seconds_of_stretch(int runs, const std::function<void()>& run,
                                 const std::function<void()>& wait,
                                 const std::function<double()>& clock) {
  const double start = clock();
  for (int i = 0; i < runs; ++i) run();
  wait();
  return clock() - start;
}

// The median of kStretches.
inline double seconds_of_run(const std::function<void()>& run, const std::function<void()>& wait,
                             const std::function<double()>& clock) {
  const auto stretch = [&](int runs) { return seconds_of_stretch(runs, run, wait, clock); };
  wait();
  for (int i = 0; i < kWarmUp; ++i) stretch(1);
  int runs = 1;
  while (stretch(runs) < kStretch) runs *= 2;
  std::vector<double> seconds;
  for (int i = 0; i < kStretches; ++i) seconds.push_back(stretch(runs) / runs);
  std::sort(seconds.begin(), seconds.end());
  return seconds[kStretches / 2];
}

}  // namespace lockstep::bench
