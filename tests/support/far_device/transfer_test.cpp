// Values on their way (ops/transfer.h) to the far device and back, and on the host.
#include "lockstep/ops/transfer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "support/far_device/device.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

using at::Tensor;

// first, first + 1, … in the host's memory.
std::vector<float> counted(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

Tensor tensor_at(at::Device place, const std::vector<float>& values) {
  return ops::Upload(values, {std::ssize(values)}, place).tensor();
}

std::vector<float> values_of(const Tensor& x) {
  const Tensor here = x.cpu();
  const auto* const first = here.const_data_ptr<float>();
  return {first, first + here.numel()};
}

class Transfer : public ::testing::TestWithParam<bool> {
 protected:
  at::Device place_ = GetParam() ? device() : at::Device(at::kCPU);
};
INSTANTIATE_TEST_SUITE_P(, Transfer, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "ToTheDevice" : "ToTheHost"; });

TEST_P(Transfer, BringsValuesInTheirShape) {
  const std::size_t before = bytes_in_use();
  {
    std::vector<float> values = counted(6, 1);
    ops::Upload upload(values, {2, 3}, place_);
    values.assign(6, 0);
    const Tensor x = upload.tensor();
    EXPECT_EQ(x.device(), place_);
    EXPECT_EQ(x.sizes(), (at::IntArrayRef{2, 3}));
    EXPECT_TRUE(x.is_contiguous());
    EXPECT_EQ(values_of(x.t().t()), counted(6, 1));
    EXPECT_EQ(tensor_at(place_, {}).numel(), 0);
    const ops::Upload nobodys(values, {6}, place_);
  }
  EXPECT_EQ(bytes_in_use(), before);
}

TEST_P(Transfer, BringsWhatTheTensorsHadWhenItBegan) {
  for (int i = 0; i < 20; ++i) {
    Tensor x = tensor_at(place_, counted(700, 1));
    const Tensor y = tensor_at(at::kCPU, counted(5, 9)), z = tensor_at(place_, counted(3, 4));
    ops::Download download({x, y, z});
    x.copy_(tensor_at(place_, counted(700, 2)));
    const std::vector<Tensor> here = download.tensors();
    ASSERT_EQ(here.size(), 3U);
    for (const Tensor& one : here) EXPECT_TRUE(one.is_cpu());
    EXPECT_EQ(values_of(here[0]), counted(700, 1));
    EXPECT_EQ(values_of(here[1]), counted(5, 9));
    EXPECT_EQ(values_of(here[2]), counted(3, 4));
    EXPECT_NE(here[1].const_data_ptr(), y.const_data_ptr()) << "a copy";
    EXPECT_EQ(values_of(x), counted(700, 2));
  }
}

TEST_P(Transfer, NeedsNoMemoryThatIsNotThere) {
  const Tensor x = tensor_at(place_, counted(1000, 1));
  std::vector<void*> all;
  for (std::size_t bytes = kMemoryBytes; bytes >= kAlignment; bytes /= 2)
    while (void* const memory = take(bytes)) all.push_back(memory);
  EXPECT_EQ(values_of(ops::Download({x}).tensors()[0]), counted(1000, 1));
  for (void* const memory : all) release(memory);
}

}  // namespace
}  // namespace lockstep::testing::far
