// A host loop over a far tensor ends the process, and the last lines say where.
#include "support/far_device/fault.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lockstep/ops/record.h"
#include "lockstep/ops/where.h"
#include "support/far_device/device.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

using at::Tensor;
using ::testing::ExitedWithCode;

// Each death test runs in a fresh process: this one may have threads of autograd.
void start() {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  name_faults();
}

// The planted mistakes. Not inlined: their names are looked for.
[[gnu::noinline]] float planted_sum(const Tensor& x) {
  const float* data = x.const_data_ptr<float>();
  float sum = 0;
  for (std::int64_t i = 3; i < x.numel(); ++i) sum += data[i];
  return sum;
}
[[gnu::noinline]] void planted_fill(Tensor& x) {
  volatile float* data = x.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) data[i] = 1;
}

Tensor recorded(const Tensor& x) {
  return ops::record("double", {x}, empty(x.sizes()), ops::Differentiable::kOnce,
                     [](const Tensor& grad, const std::vector<bool>&) -> ops::Tensors {
                       static_cast<void>(planted_sum(grad));
                       return {grad};
                     });
}

TEST(FarFaultDeathTest, NamesTheModuleTheOpAndTheFunction) {
  start();
  EXPECT_EXIT(
      {
        const ops::Scope scope("model/hidden");
        const Tensor y = recorded(empty({100}));
        volatile float sum = planted_sum(y);
        static_cast<void>(sum);
      },
      ExitedWithCode(70),
      "the host touched device memory: byte 12 of an allocation of 512 .*in model/hidden, after "
      "double; called from:\n.*planted_sum\\(at::Tensor const&\\)");
}

TEST(FarFaultDeathTest, NamesAPlantedStore) {
  start();
  EXPECT_EXIT(
      {
        const ops::Scope scope("optimiser/adam");
        Tensor x = empty({100});
        planted_fill(x);
      },
      ExitedWithCode(70), "byte 0 of an allocation of 512 .*in optimiser/adam.*planted_fill");
}

TEST(FarFaultDeathTest, NamesThePlaceInABackwardPass) {
  start();
  EXPECT_EXIT(
      {
        const Tensor x = empty({100}).requires_grad_(true);
        Tensor y;
        {
          const ops::Scope scope("model/hidden");
          y = recorded(x);
        }
        ops::gradients({y}, {empty({100})}, {x}, false);
      },
      ExitedWithCode(70), "in model/hidden, backward of double; called from:\n.*planted_sum");
}

// By a signal, or as a sanitizer ends it.
bool dies_unnamed(int status) {
  return !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 70);
}

TEST(FarFaultDeathTest, LeavesOtherFaultsAlone) {
  start();
  EXPECT_EXIT(
      {
        volatile int* nowhere = nullptr;
        *nowhere = 1;
      },
      dies_unnamed, "");
}

// A child of fork() has no device, as with a GPU.
TEST(FarFaultDeathTest, AForkedChildHasNoNearMemory) {
  start();
  const Tensor x = empty({1});
  volatile float* const data = near(x.mutable_data_ptr<float>());
  *data = 1;
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_EXIT(*data = 2, dies_unnamed, "");
  EXPECT_EQ(*data, 1);
}

}  // namespace
}  // namespace lockstep::testing::far
