// Errors of lanes that go through the passes side by side: the first lanes' is told, whoever is
// first in time; nothing hangs, and other ranks learn of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "lockstep/core/error.h"
#include "lockstep/model/layers.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"

namespace lockstep::train {
namespace {

using ::testing::HasSubstr;
using Trick = std::function<void(const lane::Portion& lanes)>;

// One linear layer, with something that happens in its passes.
class Tricky final : public model::Denoiser {
 public:
  Tricky(Trick forward, Trick backward, double flops)
      : forward_(std::move(forward)), backward_(std::move(backward)), flops_(flops) {
    linear_ = register_module("linear", std::make_shared<model::Linear>(1, 1));
  }
  Tensor forward(lane::Context& context, const Tensor& x, const Tensor&, const Tensor&) override {
    forward_(context.portion());
    const Tensor y = linear_->forward(context, x);
    return ops::record("trick", {y}, ops::bare(y).clone(), ops::Differentiable::kOnce,
                       [this, lanes = context.portion()](const Tensor& g,
                                                         const std::vector<bool>&) -> ops::Tensors {
                         backward_(lanes);
                         return {g};
                       });
  }
  double forward_flops() const override { return flops_; }

 private:
  Trick forward_, backward_;
  double flops_;
  std::shared_ptr<model::Linear> linear_;
};

void nothing(const lane::Portion&) {}

void wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// What a step by `world` ranks of `threads` threads throws. Eight lanes.
std::string error_of(int world, int threads, const Trick& forward, const Trick& backward,
                     std::int64_t at_once = 0, double flops = kFlopsOfThread) {
  const recipe::Recipe recipe = recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/ddpm.toml",
                                             {"objective.timesteps=20", "batch.lanes=8"});
  const std::vector<std::int64_t> shape = {4, 4, 1};
  try {
    comm::run_local(world, [&](comm::Group& group) {
      numerics::Cpu cpu(threads);
      const ops::DeviceScope here(cpu);
      Training training = make_training(recipe, shape, {.world = world},
                                        [&](const model::Options&, const auto&, auto) {
                                          return std::make_shared<Tricky>(forward, backward, flops);
                                        });
      training.step_plan.lanes_at_once = at_once;
      step(training, group, [](Draw first, std::int64_t count) {
        return objective::Batch{ops::filled({count, 4, 4, 1}, 0.5F), first};
      });
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

[[noreturn]] void fail(const lane::Portion& lanes) {
  throw Error(Code::kEnvironment, "lane " + std::to_string(lanes.first.value) + " failed");
}

TEST(Streams, AreThoseOfTheThreads) {
  std::atomic<int> portions = 0;
  const Trick count = [&](const lane::Portion&) { ++portions; };
  EXPECT_EQ(error_of(1, 3, count, nothing), "nothing");
  EXPECT_EQ(portions.exchange(0), 3);
  EXPECT_EQ(error_of(1, 1, count, nothing), "nothing");
  EXPECT_EQ(portions.exchange(0), 1);
  EXPECT_EQ(error_of(1, 3, count, nothing, 2), "nothing");  // 4 and 4 lanes, one of each at a time
  EXPECT_EQ(portions.exchange(0), 8);
}

TEST(Streams, AreWorthTheirThreads) {
  std::atomic<int> portions = 0;
  const Trick count = [&](const lane::Portion&) { ++portions; };
  const auto portions_of = [&](double flops_of_step) {
    EXPECT_EQ(error_of(1, 3, count, nothing, 0, flops_of_step / (3 * 8)), "nothing");
    return portions.exchange(0);
  };
  EXPECT_EQ(portions_of(0), 1);
  EXPECT_EQ(portions_of(1.9 * kFlopsOfThread), 1);
  EXPECT_EQ(portions_of(2.1 * kFlopsOfThread), 2);
  EXPECT_EQ(portions_of(3.1 * kFlopsOfThread), 3);
  EXPECT_EQ(portions_of(1e30), 3);
}

// Lanes from 2 on fail, the later the sooner: whatever the threads, lane 2 is told.
TEST(Streams, TellTheFirstLanesErrorWhoeverIsFirst) {
  const Trick late = [](const lane::Portion& lanes) {
    if (lanes.first.value < 2) return;
    wait(3 * static_cast<int>(8 - lanes.first.value));
    fail(lanes);
  };
  for (int repetition = 0; repetition < 3; ++repetition) {
    for (const int threads : {1, 4, 8}) {  // a lane each at a time
      EXPECT_THAT(error_of(1, threads, late, nothing, threads), HasSubstr("lane 2 failed"));
      EXPECT_THAT(error_of(1, threads, nothing, late, threads), HasSubstr("lane 2 failed"));
    }
  }
}

// A rank whose later stream fails while the others wait in the exchange: all end, and say why.
TEST(Streams, OtherRanksLearnOfAnError) {
  for (const std::int64_t lane : {0, 2, 4, 6}) {
    const Trick one = [lane](const lane::Portion& lanes) {
      if (lanes.first.value != lane) return;
      wait(20);
      fail(lanes);
    };
    const std::string message = "lane " + std::to_string(lane) + " failed";
    EXPECT_THAT(error_of(2, 2, one, nothing), HasSubstr(message));
    EXPECT_THAT(error_of(2, 2, nothing, one), HasSubstr(message));
  }
}

// Not an Error, and in every thread.
TEST(Streams, PassOnWhatIsNoErrorOfOurs) {
  const Trick lacks = [](const lane::Portion&) { throw std::bad_alloc(); };
  EXPECT_THROW(error_of(1, 4, lacks, nothing), std::bad_alloc);
}

}  // namespace
}  // namespace lockstep::train
