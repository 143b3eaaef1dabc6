// Groups of real processes over loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exercise.h"
#include "processes.h"
#include "support/local_ranks.h"

namespace lockstep::comm {
namespace {

// What every rank must have received, by threads of this process.
std::vector<std::string> by_threads(int world, std::size_t large) {
  std::vector<std::string> hashes(static_cast<std::size_t>(world));
  run_local(world, [&](Group& group) {
    hashes[static_cast<std::size_t>(group.rank().value)] =
        std::to_string(exercise(group, 20, large)) + "\n";
  });
  return hashes;
}

void expect_same_as_threads(int world, const std::vector<std::string>& settings, std::size_t large,
                            const std::string& program = "comm_rank") {
  const auto wanted = by_threads(world, large);
  const auto ended = Ranks("operations", world, settings, {}, program).wait();
  for (std::size_t r = 0; r < ended.size(); ++r) {
    EXPECT_EQ(ended[r].code, 0) << "rank " << r << ": " << ended[r].err;
    EXPECT_EQ(ended[r].out, wanted[r]) << "rank " << r;
  }
}

class Gloo : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(World, Gloo, testing::Range(1, 6));

TEST_P(Gloo, EveryOperationDeliversWhatThreadsDeliver) {
  expect_same_as_threads(GetParam(), {"deadline=60"}, 70000);
}

TEST(Gloo, TenMebibytes) {
  expect_same_as_threads(3, {"deadline=60", "large=1"}, 10 << 20);
}

TEST(Gloo, OverANamedInterface) {
  expect_same_as_threads(2, {"deadline=60", "interface=lo"}, 70000);
}

// LibTorch exports symbols of another Gloo. The plug-in must not see them.
TEST(Gloo, InAProgramThatIsLinkedWithLibTorch) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "NOT PROVED: the sanitizers' runtime refuses RTLD_DEEPBIND";
#endif
  expect_same_as_threads(2, {"deadline=120", "torch=1"}, 70000, "comm_rank_torch");
}

}  // namespace
}  // namespace lockstep::comm
