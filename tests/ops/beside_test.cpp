// Threads beside one: what they have of it, and whose error it gets.
#include "lockstep/ops/beside.h"

#include <ATen/ops/add.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/trace.h"

namespace lockstep::ops {
namespace {

using ::testing::HasSubstr;

class Beside : public ::testing::Test {
 protected:
  numerics::Cpu cpu_{5};
  const DeviceScope here_{cpu_};
};

TEST_F(Beside, EachHasAShareOfTheThreadsAndThePlace) {
  EXPECT_EQ(threads_beside(), 5);
  const Scope module("objective/denoise");
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> shares(3);
  side_by_side(3, [&](std::size_t i, const Stopped& stopped) {
    EXPECT_FALSE(stopped());
    EXPECT_EQ(where().module, "objective/denoise");
    EXPECT_NE(&device(), &cpu_);
    EXPECT_EQ(tensors_device(), at::kCPU);
    shares[i] = device().host().threads();
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(shares, (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(threads.size(), 3U);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(&device(), &cpu_);
}

TEST_F(Beside, ThereAreNoneWhereOrderIsHeardOrKernelsAreNative) {
  {
    const TraceScope trace([](const std::string&, at::TensorList, at::TensorList) {});
    EXPECT_EQ(threads_beside(), 1);
  }
  const NumericsScope native({true, 1});
  EXPECT_EQ(threads_beside(), 1);
}

// Number 2 fails at once, 3 is told to stop, and then 1 fails and 0 goes on to its end.
TEST_F(Beside, TheFirstErrorByNumberIsThrownWhoeverFailsFirst) {
  for (int repetition = 0; repetition < 100; ++repetition) {
    std::atomic<bool> told = false, zero_ended = false;
    try {
      side_by_side(4, [&](std::size_t i, const Stopped& stopped) {
        if (i == 2) throw Error(Code::kBug, "number 2");
        if (i == 3) {
          while (!stopped()) std::this_thread::yield();
          told = true;
          return;
        }
        while (!told) std::this_thread::yield();
        if (i == 1 && !stopped()) throw Error(Code::kBug, "number 1");
        if (i == 0) zero_ended = !stopped();
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("number 1"));
    }
    EXPECT_TRUE(zero_ended);
  }
}

TEST_F(Beside, TheGuardSeesThemAndNamesTheFirst) {
  std::atomic<bool> later = false;
  try {
    guarded("step 1", [&] {
      side_by_side(3, [&](std::size_t i, const Stopped&) {
        const Scope module("model/" + std::to_string(i));
        const Tensor two = filled({2}, 2.0F);
        if (i == 1)
          while (!later) std::this_thread::yield();
        if (i > 0) at::add(two, two);
        later = later || i == 2;
      });
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug);
    EXPECT_THAT(error.what(), HasSubstr("step 1: aten::add ran in model/1"));
  }
}

TEST_F(Beside, EachDifferentiatesItsOwnGraph) {
  std::vector<float> slopes(5);
  side_by_side(5, [&](std::size_t i, const Stopped&) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      Tensor x = filled({1}, static_cast<float>(i));
      x.requires_grad_(true);
      const Tensor y = row_squares(x.view({1, 1}));
      slopes[i] = value_of(gradients({y}, {filled({1}, 1.0F)}, {x}, false).front());
    }
  });
  EXPECT_EQ(slopes, (std::vector<float>{0, 2, 4, 6, 8}));
}

}  // namespace
}  // namespace lockstep::ops
