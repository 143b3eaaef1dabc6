// What a step on a GPU takes is what the plan says (train/memory.h), kernels' scratch memory as
// well.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "emulated.h"
#include "lockstep/comm/queue.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/step.h"
#include "lockstep/train/witness_lanes.h"
#include "support/far_device/memory.h"
#include "support/local_ranks.h"
#include "support/over_device.h"

namespace lockstep::train {
namespace {

class GpuMemory : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Golden, GpuMemory, ::testing::Values("dit", "dcgan", "ddpm"),
                         [](const auto& row) { return std::string(row.param); });

// Bytes of a step: those that the plan has, but for what is read ahead, which may not have begun
// when the step is over; and those that were taken.
struct Bytes {
  double planned, ahead, most;
  std::size_t witnessed;  // lanes
};
Bytes of_a_step(const std::string& golden, const std::vector<std::string>& changes,
                std::int64_t lanes_at_once = 0) {
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/" + golden + ".toml", changes);
  const auto dataset = data::open(recipe.data);
  Bytes bytes{};
  comm::run_local(1, [&](comm::Group& group) {
    const ops::DeviceScope here(*emulated_gpu().kernels, ops::gpu_tensors(emulated_gpu().memory));
    const StepMemory plan = StepWalk(recipe, dataset->sample_shape(), {})(lanes_at_once);
    const std::size_t before = testing::far::bytes_in_use();
    Training training = make_training(recipe, dataset->sample_shape(), {});
    training.step_plan.lanes_at_once = lanes_at_once;
    const auto captured = std::exchange(training.captured, nullptr);  // what it takes stays taken
    Batches batches(*dataset, recipe, training.plan, group.rank());
    const auto feed = [&](Draw first, std::int64_t count) { return batches(first, count); };
    step(training, group, feed);
    const std::size_t witnessed = witnessed_lanes(training).size();
    testing::far::most_in_use();
    step(training, group, feed);
    bytes = {static_cast<double>(plan.state + plan.passes), static_cast<double>(plan.ahead),
             static_cast<double>(testing::far::most_in_use() - before), witnessed};
  });
  ::testing::Test::RecordProperty("most", std::to_string(bytes.most));
  ::testing::Test::RecordProperty("planned", std::to_string(bytes.planned));
  return bytes;
}

TEST_P(GpuMemory, OfAStepIsThePlans) {
  const Bytes bytes = of_a_step(GetParam(), {});
  EXPECT_LT(bytes.most, 1.01 * (bytes.planned + bytes.ahead));
  EXPECT_GT(bytes.most, 0.99 * bytes.planned);
}

// LibTorch's kernels are the host's here, so that their temporaries are in the plan alone.
TEST_P(GpuMemory, OfANativeStepIsInThePlan) {
  for (const char* const precision : {"float32", "bfloat16"}) {
    SCOPED_TRACE(precision);
    const Bytes bytes =
        of_a_step(GetParam(), {"run.numerics=native", "run.precision=" + std::string(precision)});
    EXPECT_LT(bytes.most, 1.01 * (bytes.planned + bytes.ahead));
    EXPECT_GT(bytes.most, 0.97 * bytes.planned);
  }
}

// A bucket is up to 32 MiB there, and 4 MiB in the host's.
TEST(MessagesOfAStep, ArePlannedByTheBucketsOfTheirMemory) {
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/toy-gan.toml",
                   {"generator.hidden=1000", "generator.layers=12"});  // tensors of 4 MB
  const std::vector<std::int64_t> points = {2};
  const auto messages = [&](bool in_device) {
    return StepWalk(recipe, points, {.world = 2}, {.in_device = in_device})(0).messages;
  };
  EXPECT_GT(messages(true), 3 * messages(false));
}

// Rank 0 writes checkpoints, of whole optimisers' slots.
TEST(StateOfDividedOptimisers, IsGatheredAndCopiedByRank0) {
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/toy-gan.toml",
                   {"checkpoint.every=100", "generator.hidden=1000", "samples.count=0"});
  const auto of = [&](std::int64_t rank, bool divided) {
    Ranks ranks{.world = 2};
    if (divided) ranks.keeps = Rank(rank);
    return StepWalk(recipe, {2}, ranks, {.rank = Rank(rank)})(0);
  };
  const StepMemory whole = of(0, false), first = of(0, true), second = of(1, true);
  EXPECT_LT(first.state, whole.state);
  EXPECT_EQ(first.copy, whole.state);
  EXPECT_EQ(first.pictures, whole.state - first.state);
  EXPECT_EQ(second.copy, 0);
  EXPECT_LT(second.pictures, first.pictures);
  EXPECT_EQ(of(1, false).copy, 0);
}

// A portion's partials wait for others', whichever lanes are computed again. Of one tensor at a time
// there are more rows than planned; these are small.
TEST(PartialsThatWait, AreAsManyWhereALaneHasAWitness) {
  const Bytes some =
      of_a_step("toy-gan",
                {"batch.lanes=16", "batch.samples_per_lane=1", "generator.hidden=64",
                 "generator.layers=40", "discriminator.hidden=16", "evidence.witness_rate=0.4"},
                2);
  EXPECT_GT(some.witnessed, 2U);
  EXPECT_LT(some.most, 1.1 * (some.planned + some.ahead));
}

// Several ranks, of which the first is on the GPU and the others on CPUs.
struct World {
  std::string name, recipe;
  std::vector<std::string> changes;
  int size = 2;
  bool in_device = true;  // messages, as over NCCL
  bool divided = false;
};
// Gradients of 2 MiB in two buckets: a generator as large as its activations are small.
std::vector<std::string> buckets(const std::string& lanes) {
  return {"batch.lanes=" + lanes, "batch.samples_per_lane=1", "generator.hidden=512",
          "discriminator.hidden=64"};
}

class GpuMemoryOfRanks : public ::testing::TestWithParam<World> {};
INSTANTIATE_TEST_SUITE_P(
    Worlds, GpuMemoryOfRanks,
    ::testing::Values(World{"dit", "dit", {}}, World{"ddpm", "ddpm", {"batch.lanes=4"}},
                      World{"buckets", "toy-gan", buckets("4")},
                      World{"bucketsOfHost", "toy-gan", buckets("4"), 2, false},
                      World{"bucketsOfThree", "toy-gan", buckets("5"), 3},
                      // The first rank's three lanes are two subtrees, and so two partials.
                      World{"partials", "toy-gan", buckets("5")},
                      World{"divided", "toy-gan", buckets("5"), 2, true, true},
                      World{"dividedOfHost", "toy-gan", buckets("5"), 2, false, true}),
    [](const auto& world) { return world.param.name; });

TEST_P(GpuMemoryOfRanks, OfAStepIsNoMoreThanThePlans) {
  const World& world = GetParam();
  std::vector<std::string> changes = world.changes;
  changes.emplace_back("evidence.witness_rate=0");
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/" + world.recipe + ".toml", changes);
  const auto dataset = data::open(recipe.data);
  const auto& gpu = emulated_gpu();
  const at::Device tensors = ops::gpu_tensors(gpu.memory);
  Ranks first_of{.world = world.size};
  if (world.divided) first_of.keeps = Rank(0);
  const StepMemory plan = [&] {
    const ops::DeviceScope here(*gpu.kernels, tensors);
    return StepWalk(recipe, dataset->sample_shape(), first_of, {.in_device = world.in_device})(0);
  }();
  const std::size_t before = testing::far::bytes_in_use();
  comm::run_local(world.size, [&](comm::Group& ranks) {
    const bool first = ranks.rank() == Rank(0);
    numerics::Cpu cpu;
    const ops::DeviceScope here(first ? *gpu.kernels : cpu, first ? tensors : at::kCPU);
    testing::OverDevice over(ranks);
    comm::Queue group(world.in_device ? over : ranks);
    Ranks they{.world = world.size};
    if (world.divided) they.keeps = group.rank();
    Training training = make_training(recipe, dataset->sample_shape(), they);
    const auto captured = std::exchange(training.captured, nullptr);  // what it takes stays taken
    Batches batches(*dataset, recipe, training.plan, group.rank());
    const auto feed = [&](Draw draw, std::int64_t count) { return batches(draw, count); };
    step(training, group, feed);
    if (first) testing::far::most_in_use();
    step(training, group, feed);
    if (!first) return;
    const auto most = static_cast<double>(testing::far::most_in_use() - before);
    const auto alone = static_cast<double>(plan.state + plan.passes + plan.ahead);
    const double planned = alone + static_cast<double>(plan.exchange());
    RecordProperty("most", std::to_string(most));
    RecordProperty("alone", std::to_string(alone));
    RecordProperty("planned", std::to_string(planned));
    EXPECT_LE(most, planned);
    EXPECT_GT(plan.messages, 0);  // how large they are: GpuOutbox.TakesWhatIsPlanned
    EXPECT_GT(most, alone) << "as if nothing were exchanged";
    EXPECT_GT(most, 0.6 * planned);
  });
}

}  // namespace
}  // namespace lockstep::train
