// What a run takes, by a clock and a GPU of the test's own. gpu_check_test.py has the same for
// PyTorch's.
#include "bench/stretch.h"

#include <gtest/gtest.h>

namespace lockstep::bench {
namespace {

struct LateGpu {
  double seconds_of_a_run;
  double now = 0, busy = 0;  // what it still has to do
  int runs = 0;

  double measured() {
    return seconds_of_run(
        [this] {
          ++runs;
          busy += seconds_of_a_run;
        },
        [this] {
          now += busy + 50e-6;  // copies and waits of the host
          busy = 0;
        },
        [this] { return now; });
  }
};

TEST(Stretch, WaitsAreBelowAPercentOfASmallKernel) {
  LateGpu gpu{.seconds_of_a_run = 3e-6};
  EXPECT_NEAR(gpu.measured(), 3e-6, 0.01 * 3e-6);
}

TEST(Stretch, ALongKernelRunsOnceAStretch) {
  LateGpu gpu{.seconds_of_a_run = 0.1};
  EXPECT_NEAR(gpu.measured(), 0.1, 0.01 * 0.1);
  EXPECT_EQ(gpu.runs, kWarmUp + 1 + kStretches);
}

}  // namespace
}  // namespace lockstep::bench
