// What a steady step asks of a GPU: docs/cuda.md, "Launches and waits". A launch costs the host
// microseconds, and a wait leaves the GPU without work, so neither may grow unseen. Products are
// cut into launches by the number of multiprocessors: as many as an H100 has.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "emulated.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/gpu/stream.h"
#include "support/local_ranks.h"
#include "support/over_device.h"
#include "support/temporary_folder.h"

namespace lockstep::train {
namespace {

using test::gpu::Calls;
using test::gpu::calls_so_far;
using test::gpu::Of;

struct Counted {
  Calls kernels;   // of the null stream
  Calls exchange;  // of its own stream
};
struct Steps {
  Counted called;    // call by call, as steps with witnesses are taken
  Counted captured;  // by launches of captured phases
};

enum class Over { kNothing, kHost, kDevice };  // messages

Calls operator-(const Calls& a, const Calls& b) {
  return {a.launches - b.launches, a.copies - b.copies, a.waits - b.waits, a.blocks - b.blocks};
}

// The second and the fourth step of a golden recipe, on the first of the ranks; others are on CPUs.
Steps calls_of(const std::string& name, Over over) {
  const int world = over == Over::kNothing ? 1 : 2;
  std::vector<std::string> changes = {"evidence.witness_rate=0"};
  // As many launches, in less time.
  if (world == 1) changes.emplace_back("batch.lanes=2");
  if (world == 2 && name == "ddpm") changes.emplace_back("batch.lanes=4");
  if (name == "integer-ddpm") changes.emplace_back("batch.samples_per_lane=1");
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/" + name + ".toml", changes);
  const auto dataset = data::open(recipe.data);
  Steps steps;
  const numerics::Gpu& gpu = emulated_gpu();
  comm::run_local(world, [&](comm::Group& inner) {
    testing::OverDevice in_gpu_memory(inner);
    comm::Group& group = over == Over::kDevice ? in_gpu_memory : inner;
    const bool first = group.rank() == Rank(0);
    numerics::Cpu cpu;
    const ops::DeviceScope here(first ? *gpu.kernels : cpu,
                                first ? ops::gpu_tensors(gpu.memory) : at::kCPU);
    Training training = make_training(recipe, dataset->sample_shape(), {.world = world});
    Batches batches(*dataset, recipe, training.plan, group.rank());
    const auto counted_step = [&] {
      const Calls before = calls_so_far(), others_before = calls_so_far(Of::kOwnOrders);
      step(training, group, [&](Draw draw, std::int64_t count) { return batches(draw, count); });
      return Counted{calls_so_far() - before, calls_so_far(Of::kOwnOrders) - others_before};
    };
    counted_step();
    const auto captured = std::exchange(training.captured, nullptr);
    const Counted called = counted_step();
    training.captured = captured;
    counted_step();  // it captures
    const Counted launched = counted_step();
    if (first) steps = {called, launched};
  });
  return steps;
}

struct Most {
  const char* recipe;
  Over over;
  Calls called, captured, exchange, exchange_captured;
};

class Launches : public ::testing::TestWithParam<Most> {};
INSTANTIATE_TEST_SUITE_P(
    Golden, Launches,
    ::testing::Values(
        Most{"ddpm", Over::kNothing, {786, 12, 1, 863}, {6, 8, 1, 8}, {}, {}},
        Most{"ddpm", Over::kHost, {786, 12, 2, 1090}, {6, 8, 2, 8}, {2, 8, 2, 9}, {2, 7, 2, 8}},
        Most{"ddpm",
             Over::kDevice,
             {786, 12, 2, 1090},
             {6, 8, 2, 8},
             {3, 12, 4, 18},
             {3, 11, 4, 17}},
        Most{"dit", Over::kNothing, {273, 13, 1, 262}, {6, 9, 1, 8}, {}, {}},
        Most{"dit", Over::kHost, {274, 13, 2, 306}, {6, 9, 2, 8}, {2, 8, 2, 9}, {2, 7, 2, 8}},
        Most{"dit", Over::kDevice, {274, 13, 2, 306}, {6, 9, 2, 8}, {3, 12, 4, 18}, {3, 11, 4, 17}},
        Most{"integer-ddpm", Over::kNothing, {946, 12, 1, 1208}, {6, 8, 1, 8}, {}, {}},
        Most{"dcgan", Over::kNothing, {425, 47, 1, 385}, {10, 21, 1, 18}, {}, {}},
        Most{"dcgan",
             Over::kHost,
             {425, 68, 24, 439},
             {32, 42, 24, 18},
             {4, 16, 4, 18},
             {4, 14, 4, 16}},
        Most{"dcgan",
             Over::kDevice,
             {425, 68, 24, 439},
             {32, 42, 24, 18},
             {6, 24, 8, 36},
             {6, 22, 8, 34}},
        Most{"sngan", Over::kNothing, {584, 53, 1, 495}, {10, 21, 1, 18}, {}, {}}),
    [](const auto& row) {
      std::string name = row.param.recipe;
      if (row.param.over == Over::kHost) name += "OverTheHost";
      if (row.param.over == Over::kDevice) name += "OverDevices";
      std::erase(name, '-');
      return name;
    });

TEST_P(Launches, OfASteadyStepAreAsFewAsTheyWere) {
  const Most& most = GetParam();
  const Steps steps = calls_of(most.recipe, most.over);
  const auto compare = [&](const std::string& which, const Calls& calls, const Calls& limit) {
    RecordProperty(which + " launches", std::to_string(calls.launches));
    RecordProperty(which + " copies", std::to_string(calls.copies));
    RecordProperty(which + " waits", std::to_string(calls.waits));
    RecordProperty(which + " blocks", std::to_string(calls.blocks));
    EXPECT_LE(calls.launches, limit.launches) << which;
    EXPECT_LE(calls.copies, limit.copies) << which;
    EXPECT_LE(calls.waits, limit.waits) << which;
    EXPECT_LE(calls.blocks, limit.blocks) << which;
  };
  compare("called", steps.called.kernels, most.called);
  compare("captured", steps.captured.kernels, most.captured);
  compare("exchange, called", steps.called.exchange, most.exchange);
  compare("exchange, captured", steps.captured.exchange, most.exchange_captured);
}

// The next step goes on while the state of this one is on its way.
TEST(Waits, ACheckpointNeedsNone) {
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/toy-gan.toml", {});
  const auto dataset = data::open(recipe.data);
  const testing::TemporaryFolder folder;
  comm::run_local(1, [&](comm::Group& group) {
    const ops::DeviceScope here(*emulated_gpu().kernels, ops::gpu_tensors(emulated_gpu().memory));
    Training training = make_training(recipe, dataset->sample_shape(), {});
    Batches batches(*dataset, recipe, training.plan, group.rank());
    const auto feed = [&](Draw first, std::int64_t count) { return batches(first, count); };
    checkpoint::Saver saver(real_file_system(), folder.path(), {});
    for (int i = 0; i < 3; ++i) {
      step(training, group, feed);
      checkpoint::Meta meta;
      meta.state = training.agreed->root;
      meta.sample_shape = training.sample_shape;
      meta.recipe_text = "toy-gan";
      const hash::Digest commit = state::commit(training.state);
      const std::int64_t before = calls_so_far().waits;
      saver.save(meta, training.state);
      EXPECT_EQ(calls_so_far().waits, before);
      const Step saved = training.state.step;
      step(training, group, feed);
      saver.wait();
      const auto loaded =
          checkpoint::load(real_file_system(), folder.path() / checkpoint::file_name(saved));
      EXPECT_EQ(state::commit(loaded.state()), commit);
    }
  });
}

}  // namespace
}  // namespace lockstep::train
