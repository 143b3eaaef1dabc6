#include "processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::comm {
namespace {

TEST(Process, MaySayMoreThanAPipeHolds) {
  const std::string much = "head -c 300000 /dev/zero";
  const Ended ended = Process("/bin/sh", {"-c", much + " >&2; " + much}, -1, 240).wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out.size(), 300000);
  EXPECT_EQ(ended.err.size(), 300000);
}

TEST(Process, ThatHangsIsEnded) {
  Process hangs("/bin/sh", {"-c", "echo ready; exec sleep 1000"}, -1, 5);
  hangs.wait_for_output("ready");
  const Ended ended = hangs.wait();
  EXPECT_EQ(ended.code, 128 + SIGKILL);
  EXPECT_THAT(ended.err, testing::HasSubstr("the test ended it"));
}

}  // namespace
}  // namespace lockstep::comm
