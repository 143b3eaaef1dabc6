// kill -9 in the middle of a save.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/clock.h"
#include "support/temporary_folder.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::TemporaryFolder;

// Saves checkpoint after checkpoint until it is killed.
[[noreturn]] void save_until_killed(const std::filesystem::path& folder, Step first) {
  try {
    Saver saver(real_file_system(), folder,
                {.every = 10, .keep_last = 2, .keep_every = 0, .last = Step(1000)});
    for (Step step = first;; ++step) saver.save(some_meta(some_state(step)), some_state(step));
  } catch (...) {
    ::_exit(1);
  }
}

TEST(Kill, AtAnyMomentLeavesOnlyCheckpointsThatLoad) {
  const TemporaryFolder folder;
  std::uint64_t random = 88172645463325252u;
  std::int64_t published = 0;
  // Kills fall all over a publication, however slow this disk's fsync is.
  const TemporaryFolder elsewhere;
  const double start = monotonic_seconds();
  publish(real_file_system(), elsewhere.path(), some_meta(some_state(Step(1))),
          some_state(Step(1)));
  const auto longest = static_cast<std::uint64_t>((monotonic_seconds() - start) * 4e6) + 5000;
  for (int round = 0; round < 40 || (published == 0 && round < 200); ++round) {
    const std::vector<Step> before = list(real_file_system(), folder.path());
    const Step next = before.empty() ? Step(1) : before.back() + 1;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_until_killed(folder.path(), next);
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    ::usleep(static_cast<useconds_t>(random % longest));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself";
    const std::vector<Step> now = list(real_file_system(), folder.path());
    for (const Step step : now)
      ASSERT_TRUE(is_whole(real_file_system(), folder.path(), step)) << step.value;
    if (!before.empty()) {
      ASSERT_FALSE(now.empty());
      EXPECT_GE(now.back(), before.back());
      published += now.back() - before.back();
    }
  }
  EXPECT_GT(published, 0) << "no child got as far as publishing";
}

}  // namespace
}  // namespace lockstep::checkpoint
