#include "lockstep/core/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/system_files.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class Memory : public ::testing::Test, protected testing::SystemFiles {
 protected:
  MemoryLeft left(int processes = 1) const {
    return memory_left(processes, root()).value_or(MemoryLeft{-1, "nothing"});
  }
  void available(std::int64_t mib) {
    file("proc/meminfo", "MemTotal:    9999999 kB\nMemFree:  7 kB\nMemAvailable:  " +
                             std::to_string(mib * 1024) + " kB\n");
  }
};

TEST_F(Memory, OfAMachineWithoutLimitsIsWhatIsAvailable) {
  available(300);
  EXPECT_EQ(left().bytes, 300 * kMiB);
  EXPECT_NE(left().limit.find("MemAvailable"), std::string::npos);
  EXPECT_EQ(left(3).bytes, 100 * kMiB);
}

TEST_F(Memory, NothingToReadIsNothingSaid) {
  EXPECT_FALSE(memory_left(1, root()));
}

TEST_F(Memory, ACgroupsLimitCountsWithoutItsIdleCache) {
  available(3000);
  file("proc/self/cgroup", "0::/a/b\n");
  file("sys/fs/cgroup/a/b/memory.max", std::to_string(500 * kMiB) + "\n");
  file("sys/fs/cgroup/a/b/memory.current", std::to_string(200 * kMiB) + "\n");
  EXPECT_EQ(left().bytes, 300 * kMiB);
  EXPECT_NE(left().limit.find("cgroup"), std::string::npos);
  file("sys/fs/cgroup/a/b/memory.stat",
       "anon 1\ninactive_file " + std::to_string(50 * kMiB) + "\nactive_file 7\n");
  EXPECT_EQ(left().bytes, 350 * kMiB);
  EXPECT_EQ(left(7).bytes, 50 * kMiB);
}

TEST_F(Memory, TheTightestGroupAroundCounts) {
  available(3000);
  file("proc/self/cgroup", "0::/a/b\n");
  file("sys/fs/cgroup/a/b/memory.max", "max\n");
  file("sys/fs/cgroup/a/b/memory.current", "1\n");
  file("sys/fs/cgroup/a/memory.max", std::to_string(80 * kMiB) + "\n");
  file("sys/fs/cgroup/a/memory.current", std::to_string(30 * kMiB) + "\n");
  EXPECT_EQ(left().bytes, 50 * kMiB);
}

TEST_F(Memory, AGroupOverItsLimitLeavesNothing) {
  file("proc/self/cgroup", "0::/\n");
  file("sys/fs/cgroup/memory.max", "100\n");
  file("sys/fs/cgroup/memory.current", "200\n");
  EXPECT_EQ(left().bytes, 0);
}

TEST_F(Memory, TheFirstVersionOfCgroupsCountsToo) {
  available(3000);
  file("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n0::/\n");
  file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(90 * kMiB));
  file("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(20 * kMiB));
  file("sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file " + std::to_string(5 * kMiB));
  EXPECT_EQ(left().bytes, 75 * kMiB);
}

TEST_F(Memory, TheAddressSpaceCountsLessWhatIsMapped) {
  available(1 << 30);
  file("proc/self/statm", "1000 500 300 200 0 100 0\n");
  struct rlimit old {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  struct rlimit limit = old;
  limit.rlim_cur = std::uint64_t{64} << 40;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const MemoryLeft found = left(4);  // of each process alone
  ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_EQ(found.bytes, (std::int64_t{64} << 40) - 1000 * sysconf(_SC_PAGESIZE));
  EXPECT_NE(found.limit.find("ulimit -v"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
