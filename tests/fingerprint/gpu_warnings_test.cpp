#include <gtest/gtest.h>

#include "lockstep/fingerprint/gpus.h"

namespace lockstep::fingerprint {
namespace {

Gpus two_that_are_well() {
  Gpu gpu;
  gpu.name = "NVIDIA H100";
  gpu.ecc = Gpu::Ecc::kOn;
  gpu.corrected = 7;
  gpu.uncorrected = 0;
  gpu.reasons = 0x1 | 0x2 | 0x4 | 0x10 | 0x100;  // idle, set clocks, power cap, sync boost, display
  Gpus gpus;
  gpus.driver = "580.65.06";
  gpus.cuda_driver = gpus.cuda_runtime = 13000;
  gpus.list = {gpu, gpu};
  gpus.list[1].index = 1;
  gpus.list[0].peers = {Gpu::Peer::kItself, Gpu::Peer::kPcie};
  gpus.list[1].peers = {Gpu::Peer::kNvLink, Gpu::Peer::kItself};
  return gpus;
}

// Their subjects.
std::vector<std::string> of(const Gpus& gpus) {
  std::vector<std::string> subjects;
  for (const Warning& one : warnings(gpus)) subjects.push_back(one.subject);
  return subjects;
}

using Subjects = std::vector<std::string>;

TEST(GpuWarnings, NoneOfGpusThatAreWell) {
  EXPECT_EQ(of(two_that_are_well()), Subjects{});
  EXPECT_EQ(of({}), Subjects{});
  Gpus without_counts = two_that_are_well();
  without_counts.list[0].ecc = Gpu::Ecc::kNone;
  without_counts.list[0].uncorrected.reset();
  EXPECT_EQ(of(without_counts), Subjects{});
}

TEST(GpuWarnings, OneForEachFault) {
  Gpus gpus = two_that_are_well();
  gpus.list[1].uncorrected = 1;
  ASSERT_EQ(of(gpus), Subjects{"gpu 1"});
  EXPECT_TRUE(warnings(gpus)[0].sentence.starts_with("1 uncorrected memory error since"));
  gpus.list[0].ecc = Gpu::Ecc::kOff;
  EXPECT_EQ(of(gpus), (Subjects{"gpu 0", "gpu 1"}));
  gpus.list[1].peers[0] = gpus.list[0].peers[1] = Gpu::Peer::kNone;
  EXPECT_EQ(of(gpus), (Subjects{"gpu 0", "gpu 0 - 1", "gpu 1"}));
  gpus.list[1].remapping_pending = true;
  gpus.lost = {{2, 15}};
  EXPECT_EQ(of(gpus), (Subjects{"gpu 0", "gpu 0 - 1", "gpu 1", "gpu 1", "gpu 2"}));
  for (const std::uint64_t heat : {0x8, 0x20, 0x40, 0x80}) {
    Gpus hot = two_that_are_well();
    hot.list[0].reasons |= heat;
    EXPECT_EQ(of(hot), Subjects{"gpu 0"}) << heat;
  }
}

TEST(GpuWarnings, ADriverMayBeOlderWithinAMajorVersion) {
  Gpus gpus = two_that_are_well();
  gpus.cuda_runtime = 13020;
  EXPECT_EQ(of(gpus), Subjects{});
  gpus.cuda_driver = 12090;
  EXPECT_EQ(of(gpus), Subjects{"driver"});
  gpus.cuda_driver = 0;  // not told
  EXPECT_EQ(of(gpus), Subjects{});
}

}  // namespace
}  // namespace lockstep::fingerprint
