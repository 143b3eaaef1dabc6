#include <gtest/gtest.h>

#include <map>
#include <string>

#include "lockstep/fingerprint/kernels.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"

namespace lockstep::fingerprint {
namespace {

using namespace numerics;

class Counting final : public Device {
 public:
  std::string name() override { return inner_.name(); }
  Cpu& host() override { return inner_; }
  std::unique_ptr<Device> clone(int threads) const override { return inner_.clone(threads); }
  void to_host(std::size_t bytes, const void* from, void* to) override {
    inner_.to_host(bytes, from, to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) override {
    inner_.from_host(bytes, from, to);
  }
  void copy(std::size_t bytes, const void* from, void* to) override {
    inner_.copy(bytes, from, to);
  }
  void leaf_hashes(std::span<const ByteView> tiles, hash::Leaf* leaves) override {
    ++calls["leaf_hashes"];
    inner_.leaf_hashes(tiles, leaves);
  }
  std::size_t first_non_finite(std::span<const std::span<const float>> tensors) override {
    ++calls["first_non_finite"];
    return inner_.first_non_finite(tensors);
  }
  void parallel_for(std::int64_t n, std::int64_t grain,
                    const std::function<void(std::int64_t, std::int64_t)>& body) override {
    inner_.parallel_for(n, grain, body);
  }

#include "counting-inl.h"  // made of numerics/device_kernels-inl.h

 private:
  Cpu inner_;
};

TEST(SelfTest, CallsEveryKernelOfADevice) {
  Counting device;
  device.calls.insert({{"leaf_hashes", 0}, {"first_non_finite", 0}});
  ASSERT_GT(device.calls.size(), 50U);
  const ops::DeviceScope here(device);
  const KernelHashes found = portable_kernels();
  for (const auto& [kernel, calls] : device.calls) EXPECT_GT(calls, 0) << kernel;
  ASSERT_EQ(found.size(), golden_kernels().size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].second.hex(), golden_kernels()[i].hash) << found[i].first;
}

}  // namespace
}  // namespace lockstep::fingerprint
