// What a steady step asks of a GPU: docs/cuda.md, "Launches and waits". A launch costs the host
// microseconds, and a wait leaves the GPU without work, so neither may grow unseen. Products are
// cut into launches by the number of multiprocessors: as many as an H100 has.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "emulated.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/comm/local.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/gpu/stream.h"
#include "support/temporary_folder.h"

namespace lockstep::train {
namespace {

using test::gpu::Calls;

struct Steps {
  Calls called;    // call by call, as steps with witnesses are taken
  Calls captured;  // by launches of captured phases
};

// The second and the third step of a golden recipe, on the first of the ranks; others are on CPUs.
Steps calls_of(const std::string& name, int world) {
  const recipe::Recipe recipe = recipe::load(
      LOCKSTEP_SOURCE_DIR "/recipes/golden/" + name + ".toml", {"evidence.witness_rate=0"});
  const auto dataset = data::open(recipe.data);
  Steps steps;
  comm::run_local(world, [&](comm::Group& group) {
    const bool first = group.rank() == Rank(0);
    numerics::Cpu cpu;
    const ops::DeviceScope here(first ? *emulated_gpu().kernels : cpu,
                                first ? ops::gpu_tensors(emulated_gpu().memory) : at::kCPU);
    Training training = make_training(recipe, dataset->sample_shape(), {.world = world});
    Batches batches(*dataset, recipe, training.plan, group.rank());
    const auto counted_step = [&] {
      const Calls before = test::gpu::calls_so_far();
      step(training, group, [&](Draw draw, std::int64_t count) { return batches(draw, count); });
      const Calls after = test::gpu::calls_so_far();
      return Calls{after.launches - before.launches, after.copies - before.copies,
                   after.waits - before.waits};
    };
    counted_step();
    const auto captured = std::exchange(training.captured, nullptr);
    const Calls called = counted_step();
    training.captured = captured;
    const Calls launched = counted_step();
    if (first) steps = {called, launched};
  });
  return steps;
}

struct Most {
  const char* recipe;
  int world;
  Steps steps;
};

class Launches : public ::testing::TestWithParam<Most> {};
INSTANTIATE_TEST_SUITE_P(Golden, Launches,
                         ::testing::Values(Most{"ddpm", 1, {{990, 11, 1}, {6, 6, 1}}},
                                           Most{"ddpm", 2, {{990, 11, 2}, {6, 6, 2}}},
                                           Most{"dit", 1, {{273, 12, 1}, {6, 6, 1}}},
                                           Most{"dit", 2, {{274, 12, 2}, {6, 6, 2}}},
                                           Most{"integer-ddpm", 1, {{1327, 11, 1}, {6, 6, 1}}},
                                           Most{"dcgan", 1, {{425, 42, 4}, {10, 15, 4}}},
                                           Most{"dcgan", 2, {{425, 63, 27}, {32, 36, 27}}}),
                         [](const auto& row) {
                           std::string name = row.param.recipe;
                           if (row.param.world > 1) name += "of" + std::to_string(row.param.world);
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(Launches, OfASteadyStepAreAsFewAsTheyWere) {
  const Steps steps = calls_of(GetParam().recipe, GetParam().world), &most = GetParam().steps;
  const auto compare = [&](const std::string& which, const Calls& calls, const Calls& limit) {
    RecordProperty(which + " launches", std::to_string(calls.launches));
    RecordProperty(which + " copies", std::to_string(calls.copies));
    RecordProperty(which + " waits", std::to_string(calls.waits));
    EXPECT_LE(calls.launches, limit.launches) << which;
    EXPECT_LE(calls.copies, limit.copies) << which;
    EXPECT_LE(calls.waits, limit.waits) << which;
  };
  compare("called", steps.called, most.called);
  compare("captured", steps.captured, most.captured);
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
      const std::int64_t before = test::gpu::calls_so_far().waits;
      saver.save(meta, training.state);
      EXPECT_EQ(test::gpu::calls_so_far().waits, before);
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
