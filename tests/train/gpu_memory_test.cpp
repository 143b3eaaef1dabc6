// What a step on a GPU takes is what the plan says (train/memory.h), kernels' scratch memory as
// well.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "emulated.h"
#include "lockstep/comm/local.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/step.h"
#include "support/far_device/memory.h"

namespace lockstep::train {
namespace {

class GpuMemory : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Golden, GpuMemory, ::testing::Values("dit", "dcgan", "ddpm"),
                         [](const auto& row) { return std::string(row.param); });

TEST_P(GpuMemory, OfAStepIsThePlans) {
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/" + std::string(GetParam()) + ".toml", {});
  const auto dataset = data::open(recipe.data);
  comm::run_local(1, [&](comm::Group& group) {
    const ops::DeviceScope here(*emulated_gpu().kernels, ops::gpu_tensors(emulated_gpu().memory));
    const StepMemory plan = StepWalk(recipe, dataset->sample_shape(), {})(0);
    const std::size_t before = testing::far::bytes_in_use();
    Training training = make_training(recipe, dataset->sample_shape(), {});
    const auto captured = std::exchange(training.captured, nullptr);  // what it takes stays taken
    Batches batches(*dataset, recipe, training.plan, group.rank());
    const auto feed = [&](Draw first, std::int64_t count) { return batches(first, count); };
    step(training, group, feed);
    testing::far::most_in_use();
    step(training, group, feed);
    const auto most = static_cast<double>(testing::far::most_in_use() - before);
    const auto planned = static_cast<double>(plan.state + plan.passes + plan.ahead);
    RecordProperty("most", std::to_string(most));
    RecordProperty("planned", std::to_string(planned));
    EXPECT_LT(most, 1.01 * planned);
    EXPECT_GT(most, 0.99 * planned);
  });
}

}  // namespace
}  // namespace lockstep::train
