// Steps that a GPU captured and launches again are the steps that are taken call by call.
#include "train/captured.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/queue.h"
#include "lockstep/core/error.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"
#include "lockstep/ops/trace.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/far_device/memory.h"
#include "support/gpu/gpu.h"
#include "support/gpu/stream.h"
#include "support/local_ranks.h"
#include "support/over_device.h"

namespace lockstep::train {
namespace {

namespace far = testing::far;

recipe::Recipe recipe_of(const std::string& name, const std::vector<std::string>& changes) {
  return recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/" + name + ".toml", changes);
}

struct Taken {
  std::vector<hash::Digest> states;    // after each step
  std::vector<std::int64_t> launches;  // of each
};

constexpr int kSteps = 8;

struct World {
  int size = 1;
  bool divided = false;        // --shard optimizer
  bool in_gpu_memory = false;  // is exchanged what lies there
  std::int64_t lanes_at_once = 0;
  std::int64_t beside_state = 0;
};

// Steps of the first rank, which is on this thread's device; others are on CPUs. Some are looked
// into.
Taken steps_of(const recipe::Recipe& recipe, const World& world = {}) {
  const auto dataset = data::open(recipe.data);
  Taken taken;
  comm::run_local(world.size, [&, device = &ops::device(),
                               tensors = ops::tensors_device()](comm::Group& ranks) {
    const bool first = ranks.rank() == Rank(0);
    numerics::Cpu cpu;
    const ops::DeviceScope here(first ? *device : cpu, first ? tensors : at::kCPU);
    testing::OverDevice over(ranks);
    comm::Group& inner = world.in_gpu_memory ? over : ranks;
    std::optional<comm::Queue> queue;
    if (world.size > 1) queue.emplace(inner);
    comm::Group& group = queue ? *queue : inner;
    Ranks they{.world = world.size};
    if (world.divided) they.keeps = group.rank();
    Training training = make_training(recipe, dataset->sample_shape(), they);
    training.step_plan = {world.lanes_at_once, world.beside_state};
    Batches batches(*dataset, recipe, training.plan, group.rank());
    const auto feed = [&](Draw draw, std::int64_t count) { return batches(draw, count); };
    for (int n = 1; n <= kSteps; ++n) {
      const auto before = test::gpu::calls_so_far().launches;
      std::optional<ops::TraceScope> traced;
      if (n == 5) traced.emplace([](const auto&, const auto&, const auto&) {});
      step(training, group, feed, {}, {}, n == 6 ? Look::kActivations : Look::kNone);
      if (!first) continue;
      taken.launches.push_back(test::gpu::calls_so_far().launches - before);
      taken.states.push_back(training.agreed->root);
    }
    EXPECT_EQ(over.messages() > 0, first && world.in_gpu_memory);
  });
  return taken;
}

// LibTorch learns of it before the first backward pass.
const numerics::Gpu& gpu() {
  static const numerics::Gpu opened = [] {
    numerics::Gpu one = test::gpu::open_gpu(7);
    ops::gpu_tensors(one.memory);
    return one;
  }();
  return opened;
}

// The same on a CPU alone and on a GPU.
std::pair<Taken, Taken> on_both(const recipe::Recipe& recipe, const World& world = {}) {
  gpu();
  Taken cpu = steps_of(recipe);
  const ops::DeviceScope here(*gpu().kernels, ops::gpu_tensors(gpu().memory));
  return {std::move(cpu), steps_of(recipe, world)};
}

struct Case {
  std::string name, recipe;
  std::vector<std::string> changes;
  World world = {};
  std::int64_t fewer = 10;  // launches of a captured step
};
const std::vector<std::string> kNarrow = {"evidence.witness_rate=0", "batch.lanes=5",
                                          "generator.hidden=16", "discriminator.channels=[4,4]"};
const std::vector<std::string> kDropout = {"evidence.witness_rate=0", "model.dropout=0.25",
                                           "model.channels=[4]",      "model.attention_levels=[]",
                                           "batch.lanes=2",           "batch.samples_per_lane=1"};

class CapturedSteps : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Golden, CapturedSteps,
    ::testing::Values(
        Case{"toygan", "toy-gan", {"evidence.witness_rate=0"}},
        // Drawn inside the network, and labels that are left out.
        Case{"classddpm", "class-ddpm", kDropout},
        // A penalty between samples.
        Case{"wgan", "wgan", {"evidence.witness_rate=0"}},
        // Two ranks, with three and two lanes; spectral norm goes on after the exchange.
        Case{"ranks", "wgan", kNarrow, {.size = 2, .lanes_at_once = 2}, 5},
        Case{"ranksInGpusMemory", "wgan", kNarrow, {.size = 2, .in_gpu_memory = true}, 5},
        Case{"ranksThatDivide", "wgan", kNarrow, {.size = 2, .divided = true}, 5},
        Case{"ranksThatDivideInGpusMemory",
             "class-ddpm",
             kDropout,
             {.size = 2, .divided = true, .in_gpu_memory = true},
             5},
        // Ranks need each other's statistics before they can go on.
        Case{"ranksWithBatchNorm",
             "toy-gan",
             {"evidence.witness_rate=0", "batch.lanes=5", "generator.hidden=32",
              "discriminator.hidden=32"},
             {.size = 2, .in_gpu_memory = true},
             5},
        // A bucket leaves during the backward pass.
        Case{"ranksOfALargerNetwork",
             "wgan",
             {"evidence.witness_rate=0", "batch.lanes=2", "batch.samples_per_lane=1",
              "generator.hidden=512", "generator.layers=3"},
             {.size = 2},
             5}),
    [](const auto& row) { return row.param.name; });

TEST_P(CapturedSteps, AreThoseOfTheCpu) {
  const recipe::Recipe recipe = recipe_of(GetParam().recipe, GetParam().changes);
  const auto [cpu, there] = on_both(recipe, GetParam().world);
  EXPECT_EQ(there.states, cpu.states);
  std::string counted;
  for (const std::int64_t n : there.launches) counted += std::to_string(n) + " ";
  RecordProperty("launches", counted);
  // The first leaves what devices keep, the second is captured, two are looked into.
  for (const int n : {2, 3, 4, 7, 8})
    EXPECT_LT(GetParam().fewer * there.launches[static_cast<std::size_t>(n - 1)], there.launches[0])
        << n << ": " << counted;
  for (const int n : {5, 6})
    EXPECT_GT(2 * there.launches[static_cast<std::size_t>(n - 1)], there.launches[0]) << n;
}

TEST(Captured, NothingIsThatLeavesLessThanThePlanHasBesideTheState) {
  const recipe::Recipe recipe = recipe_of("toy-gan", {"evidence.witness_rate=0"});
  const auto [cpu, there] = on_both(recipe, {.beside_state = INT64_MAX});
  EXPECT_EQ(there.states, cpu.states);
  for (const std::int64_t launches : there.launches) EXPECT_GT(2 * launches, there.launches[0]);
}

TEST(Captured, AStepWithAWitnessIsTakenCallByCall) {
  const recipe::Recipe recipe = recipe_of("toy-gan", {"evidence.witness_rate=0.2"});
  const auto [cpu, there] = on_both(recipe);
  EXPECT_EQ(there.states, cpu.states);
  const auto few = std::ranges::count_if(
      there.launches, [all = there.launches[0]](std::int64_t n) { return 10 * n < all; });
  EXPECT_GT(few, 0);
  EXPECT_LT(few, kSteps - 3) << "no step had a witness: choose another rate";
}

// The generator's phase comes in every other step: called in the second, captured in the fourth.
TEST(Captured, PhasesThatTakeTurnsAreCapturedEachInItsOwnTime) {
  const recipe::Recipe recipe =
      recipe_of("toy-gan", {"evidence.witness_rate=0", "objective.discriminator_steps=2",
                            "generator.hidden=32", "discriminator.hidden=32"});
  const auto [cpu, there] = on_both(recipe);
  EXPECT_EQ(there.states, cpu.states);
  for (const int n : {3, 4, 7, 8})
    EXPECT_LT(10 * there.launches[static_cast<std::size_t>(n - 1)], there.launches[0]) << n;
}

PhaseResult given(const Tensor& loss) {
  return {.sums = {.loss = loss, .gradients = {}, .of_lanes = {}}, .losses = {}};
}

TEST(Captured, WhatCannotBeCapturedIsComputed) {
  const ops::DeviceScope here(*gpu().kernels, ops::gpu_tensors(gpu().memory));
  CapturedPhases phases;
  const objective::Batch batch{.values = ops::filled({4}, 2.0F), .first = Draw(0)};
  int calls = 0;
  const auto compute = [&] {
    ++calls;
    const float value = ops::value_of(ops::filled({1}, 3.0F));  // captured work has no values yet
    return given(ops::filled({1}, value));
  };
  for (int i = 1; i <= 4; ++i)
    EXPECT_EQ(ops::value_of(phases("phase", phases.in_place(batch), 0, compute).sums.loss), 3.0F);
  EXPECT_EQ(calls, 5) << "once in vain";
}

// Of the GPU's memory all but so much is others'.
constexpr std::int64_t kFree = std::int64_t{256} << 20;

class WithLittleMemory : public ::testing::Test {
 protected:
  WithLittleMemory() { EXPECT_NE(others_, nullptr); }
  ~WithLittleMemory() override { far::release(others_); }

  static std::int64_t left() { return gpu().memory->left().value(); }
  // What takes so much memory, and is three.
  std::function<PhaseResult()> taking(std::int64_t bytes) {
    return [this, bytes] {
      ++calls_;
      const Tensor large = ops::empty({bytes / 4});
      return given(ops::filled({1}, 3.0F));
    };
  }
  void expect_three(const std::string& phase, const std::function<PhaseResult()>& compute,
                    std::int64_t room = 0) {
    const PhaseResult given = phases_(phase, phases_.in_place(batch_), room, compute);
    EXPECT_EQ(ops::value_of(given.sums.loss), 3.0F);
  }

  const ops::DeviceScope here_{*gpu().kernels, ops::gpu_tensors(gpu().memory)};
  const objective::Batch batch_{.values = ops::filled({4}, 2.0F), .first = Draw(0)};
  int calls_ = 0;
  CapturedPhases phases_;

 private:
  void* const others_ = far::take(static_cast<std::size_t>(left() - kFree));
};

TEST_F(WithLittleMemory, NothingIsCaptured) {
  for (int i = 1; i <= 3; ++i) expect_three("phase", taking(kFree * 5 / 8));
  EXPECT_EQ(calls_, 4) << "once in vain";
  EXPECT_GT(left(), kFree / 2) << "what was captured in vain is given back";
}

// The generator's in a GAN with discriminator_steps, or a step with a witness.
TEST_F(WithLittleMemory, APhaseThatComesLaterHasItsRoom) {
  constexpr std::int64_t kLater = kFree * 5 / 8;
  for (int i = 1; i <= 3; ++i) expect_three("early", taking(kFree * 7 / 16), kLater);
  EXPECT_EQ(calls_, 4) << "once in vain";
  expect_three("later", taking(kLater), kLater);
}

TEST_F(WithLittleMemory, WhatLeavesRoomEnoughIsCaptured) {
  constexpr std::int64_t kLater = kFree * 5 / 8;
  for (int i = 1; i <= 3; ++i) expect_three("early", taking(kFree / 4), kLater);
  EXPECT_EQ(calls_, 2);
  expect_three("later", taking(kLater), kLater);
}

TEST_F(WithLittleMemory, PhasesThatWereCapturedGiveTheirsBack) {
  for (int i = 1; i <= 3; ++i) {
    expect_three("small", taking(kFree * 3 / 8));
    expect_three("large", taking(kFree / 2));
  }
  EXPECT_EQ(calls_, 2 + 1 + 4) << "the second time in vain";
  EXPECT_GT(left(), kFree * 7 / 8);
}

}  // namespace
}  // namespace lockstep::train
