#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <limits>
#include <thread>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "support/temporary_folder.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::TemporaryFolder;
using ::testing::HasSubstr;

FileSystem& fs() {
  return real_file_system();
}

RC_GTEST_PROP(Checkpoint, GivesBackTheStateAndItsDescription, ()) {
  Shapes shapes;
  const auto count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    const auto dim = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 8),
                                     rc::gen::inRange<std::int64_t>(1000, 1100));
    std::vector<std::int64_t> shape(*rc::gen::inRange<std::size_t>(0, 5), 1);
    if (!shape.empty()) shape[*rc::gen::inRange<std::size_t>(0, shape.size())] = dim;
    if (!shape.empty()) shape.back() *= *rc::gen::inRange<std::int64_t>(1, 7);
    const char* kind = i < count / 2 ? "param" : "ema";
    shapes.push_back({std::string("model/") + kind + "/layer." + std::to_string(i), shape});
  }
  const Step step(*rc::gen::inRange<std::int64_t>(0, 200'000'000));
  const state::State state = state_of(shapes, step);
  Meta meta = some_meta(state);
  meta.semantics = *rc::gen::inRange<std::int64_t>(0, 1000);

  const TemporaryFolder folder;
  publish(fs(), folder.path(), meta, state);
  RC_ASSERT(fs().list(folder.path()).size() == 2u);
  const Loaded loaded = load(fs(), folder.path() / file_name(step));
  RC_ASSERT(same_bits(loaded.state(), state));
  RC_ASSERT(loaded.meta().recipe == meta.recipe);
  RC_ASSERT(loaded.meta().data == meta.data);
  RC_ASSERT(loaded.meta().semantics == meta.semantics);
  RC_ASSERT(loaded.meta().chain == meta.chain);
  RC_ASSERT(loaded.meta().state == state::digest(loaded.state()).root);
  RC_ASSERT(loaded.meta().sample_shape == meta.sample_shape);
  RC_ASSERT(loaded.meta().recipe_text == meta.recipe_text);

  state::State into = state_of(shapes, Step(step.value + 1));
  loaded.restore(into);
  RC_ASSERT(same_bits(into, state));
}

TEST(Checkpoint, KeepsEveryBitPattern) {
  state::State state = some_state(Step(1));
  using Limits = std::numeric_limits<float>;
  float* values = ops::write(state.tensors[0].tensor);
  const float odd[] = {-0.0F, Limits::denorm_min(), Limits::quiet_NaN(), -Limits::infinity(),
                       Limits::max()};
  std::copy(std::begin(odd), std::end(odd), values);
  const std::uint32_t nan_with_payload = 0xffa12345u;
  std::memcpy(values + 5, &nan_with_payload, 4);
  const TemporaryFolder folder;
  publish(fs(), folder.path(), some_meta(state), state);
  state::State into = some_state(Step(2));
  load(fs(), folder.path() / file_name(Step(1))).restore(into);
  EXPECT_TRUE(same_bits(into, state));
}

TEST(Checkpoint, HasTheSameBytesASecondLaterWithOtherThreadsAndUmask) {
  const state::State state = some_state(Step(500));
  const TemporaryFolder one, two;
  publish(fs(), one.path(), some_meta(state), state);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  numerics::Cpu cpu(3);
  const ops::DeviceScope here(cpu);
  const mode_t before = ::umask(0077);
  publish(fs(), two.path(), some_meta(state), state);
  ::umask(before);
  for (const char* name : {"step-00000500.h5", "step-00000500.h5.sha256"})
    EXPECT_EQ(read_file(fs(), one.path() / name), read_file(fs(), two.path() / name)) << name;
}

TEST(Checkpoint, FileNamesAreReadBackAndForeignOnesAreNot) {
  EXPECT_EQ(file_name(Step(500)), "step-00000500.h5");
  for (const std::int64_t step : {0L, 7L, 99'999'999L, 123'456'789L})
    EXPECT_EQ(step_of(file_name(Step(step))), Step(step));
  for (const char* name :
       {"step-500.h5", "step-00000500.h5.lockstep.tmp", "step-00000500.h5.sha256",
        "step--0000500.h5", "step-.h5", "step-0000050x.h5", "Step-00000500.h5", "step-00000500", "",
        ".h5", "step-000000500.h5", "step-99999999999999999999.h5"})
    EXPECT_EQ(step_of(name), std::nullopt) << name;
}

// What `restore` says of a state that differs from the saved one; the state must not change.
std::string refusal(const state::State& saved, const Shapes& shapes) {
  const TemporaryFolder folder;
  publish(fs(), folder.path(), some_meta(saved), saved);
  state::State into = state_of(shapes, Step(9));
  try {
    load(fs(), folder.path() / file_name(saved.step)).restore(into);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    EXPECT_TRUE(same_bits(into, state_of(shapes, Step(9)))) << "half restored";
    return error.what();
  }
  return "restored";
}

TEST(Restore, RefusesMissingExtraRenamedAndReshapedTensorsByName) {
  const state::State saved = some_state(Step(3));
  Shapes shapes = some_shapes();
  EXPECT_EQ(refusal(saved, shapes), "restored");
  shapes.push_back({"model/ema/extra", {2}});
  EXPECT_THAT(refusal(saved, shapes), HasSubstr("model/ema/extra"));
  shapes = some_shapes();
  shapes.pop_back();
  EXPECT_THAT(refusal(saved, shapes), HasSubstr("model/ema/conv.weight"));
  shapes = some_shapes();
  shapes.erase(shapes.begin() + 1);
  EXPECT_THAT(refusal(saved, shapes), HasSubstr("model/param/conv.bias"));
  shapes = some_shapes();
  shapes[3].first = "model/v/conv.weight";
  EXPECT_THAT(refusal(saved, shapes), HasSubstr("model/v/conv.weight"));
  shapes = some_shapes();
  shapes[3].second = {30, 90};
  const std::string reshaped = refusal(saved, shapes);
  EXPECT_THAT(reshaped, HasSubstr("model/m/conv.weight"));
  EXPECT_THAT(reshaped, HasSubstr("[30, 90]"));
  EXPECT_THAT(reshaped, HasSubstr("[90, 30]"));
}

}  // namespace
}  // namespace lockstep::checkpoint
