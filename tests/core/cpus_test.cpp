#include "lockstep/core/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "core/system_files.h"

namespace lockstep {
namespace {

class CpuQuota : public ::testing::Test, protected testing::SystemFiles {
 protected:
  std::optional<int> quota() const { return cpu_quota(root()); }
};

TEST_F(CpuQuota, NothingToReadIsNoLimit) {
  EXPECT_EQ(quota(), std::nullopt);
  file("proc/self/cgroup", "0::/a\n");
  EXPECT_EQ(quota(), std::nullopt);
  file("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(CpuQuota, IsRoundedUp) {
  file("proc/self/cgroup", "0::/a\n");
  for (const auto& [text, cpus] : {std::pair("400000 100000\n", 4),
                                   {"250000 100000\n", 3},
                                   {"1000 100000\n", 1},
                                   {"100000 100000\n", 1}}) {
    file("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(quota(), cpus) << text;
  }
}

TEST_F(CpuQuota, OfTheGroupsAroundCounts) {
  file("proc/self/cgroup", "0::/pods/pod/container\n");
  file("sys/fs/cgroup/pods/pod/container/cpu.max", "800000 100000\n");
  file("sys/fs/cgroup/pods/pod/cpu.max", "200000 100000\n");
  file("sys/fs/cgroup/pods/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 2);
}

// Docker's view of itself: its group's files are at the mount.
TEST_F(CpuQuota, OfVersionOneCounts) {
  file("proc/self/cgroup", "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), std::nullopt);
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000\n");
  EXPECT_EQ(quota(), 7);
}

TEST_F(CpuQuota, WhatIsNoNumberIsNoLimit) {
  file("proc/self/cgroup", "0::/\n");
  for (const char* const text :
       {"", "many 100000", "100000", "100000 0", "-5 100000", "0 100000"}) {
    file("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota(), std::nullopt) << text;
  }
}

TEST(UsableCpus, AreThoseThatThisProcessMayRunOn) {
  std::thread([] {
    const int all = usable_cpus(1);
    EXPECT_GE(all, 1);
    EXPECT_LE(all, static_cast<int>(std::thread::hardware_concurrency()));
    EXPECT_EQ(usable_cpus(1 << 20), 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);  // of this thread
    EXPECT_EQ(usable_cpus(1), 1);
  }).join();
}

}  // namespace
}  // namespace lockstep
