// Ranks that die, hang, give up or fall out of step: the others stop soon, with exit code 6, and
// say which rank it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "lockstep/core/clock.h"
#include "processes.h"

namespace lockstep::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string host() {
  char name[256]{};
  gethostname(name, sizeof name - 1);
  return name;
}

struct Blow {
  const char* scenario;
  int world, rank, signal;
};
class Struck : public testing::TestWithParam<Blow> {};

TEST_P(Struck, RankIsNamedByTheOthers) {
  const auto [scenario, world, victim, signal] = GetParam();
  Ranks ranks(scenario, world, {signal == SIGSTOP ? "deadline=8" : "deadline=600"});
  for (int r = 0; r < world; ++r) ranks[r].wait_for_output("ready");
  ranks[victim].signal(signal);
  for (int r = 0; r < world; ++r) {
    if (r == victim) continue;
    const Ended ended = ranks[r].wait();
    EXPECT_EQ(ended.code, 6) << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("rank " + std::to_string(victim) + " on " + host()),
                                 HasSubstr(signal == SIGSTOP ? "no sign of life" : "was lost")));
  }
}

INSTANTIATE_TEST_SUITE_P(Blows, Struck,
                         testing::Values(Blow{"barriers", 3, 2, SIGKILL},
                                         Blow{"barriers", 3, 0, SIGKILL},
                                         Blow{"large", 4, 1, SIGKILL}, Blow{"large", 3, 0, SIGKILL},
                                         Blow{"barriers", 2, 1, SIGSTOP},
                                         Blow{"large", 3, 1, SIGSTOP},
                                         Blow{"large", 3, 0, SIGSTOP}));

// A machine that paused, or whose processes were all stopped, for less than a deadline: nobody was
// silent while nobody listened.
TEST(Stopped, RanksThatAllStopForLongerThanASilenceGoOn) {
  Ranks ranks("barriers", 3, {"deadline=20"});  // silence: 10
  for (int r = 0; r < 3; ++r) ranks[r].wait_for_output("ready");
  for (int r = 0; r < 3; ++r) ranks[r].signal(SIGSTOP);
  sleep(12);
  for (int r = 0; r < 3; ++r) ranks[r].signal(SIGCONT);
  sleep(1);
  ranks[2].signal(SIGKILL);  // the first that is lost
  for (int r = 0; r < 2; ++r)
    EXPECT_THAT(ranks[r].wait().err, AllOf(HasSubstr("rank 2 on " + host() + " was lost"),
                                           testing::Not(HasSubstr("no sign of life"))));
}

// It lives and answers, but its main thread does not come.
TEST(Failure, ARankThatDoesNotComeToAnOperationIsNamed) {
  Ranks ranks("stuck", 3, {"deadline=5", "odd=1"});
  for (const int r : {0, 2}) {
    const Ended ended = ranks[r].wait();
    EXPECT_EQ(ended.code, 6);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("barrier"), HasSubstr("did not finish in 5.0 s"),
                                 HasSubstr("rank 1 on " + host() + " did not begin it")));
  }
}

// Gloo writes with writev, and a peer that is gone would end this process: both threads that write
// hold the signal back.
TEST(Failure, NoThreadThatWritesDiesOfSigpipe) {
  Ranks ranks("stuck", 2, {"deadline=60", "odd=1"});
  ranks[0].wait_for_output("ready");
  const double until = monotonic_seconds() + 120;
  while (ranks[0].threads_blocking(SIGPIPE) < 2 && monotonic_seconds() < until) usleep(10000);
  EXPECT_GE(ranks[0].threads_blocking(SIGPIPE), 2);  // a sanitizer has one of its own
}

TEST(Failure, TheFirstReasonReachesAllRanks) {
  for (const char* odd : {"odd=0", "odd=2"}) {
    Ranks ranks("abort", 3, {odd, "deadline=600"});
    ranks[odd[4] - '0'].wait_for_output("ready");
    const auto ended = ranks.wait();
    for (const Ended& rank : ended) {
      EXPECT_EQ(rank.code, 6);
      EXPECT_THAT(rank.err, AllOf(HasSubstr(std::string("rank ") + odd[4] + " on " + host() +
                                            ": the disk is full"),
                                  testing::Not(HasSubstr("later"))));
    }
  }
}

TEST(Failure, AGroupThatAnErrorEndsStopsTheOthers) {
  for (const char* scenario : {"throw", "drop"}) {  // drop: while an operation is under way
    SCOPED_TRACE(scenario);
    const auto ended = Ranks(scenario, 3, {"odd=1"}).wait();
    EXPECT_EQ(ended[1].code, 7);
    for (const int r : {0, 2}) {
      EXPECT_EQ(ended[static_cast<std::size_t>(r)].code, 6);
      EXPECT_THAT(ended[static_cast<std::size_t>(r)].err,
                  HasSubstr("rank 1 on " + host() + ": it ended with an error"));
    }
  }
}

TEST(Failure, ARankOutOfStepIsNamed) {
  // All in one message; and where most of it is on its way before it is known, less than is awaited
  // or more, which breaks connections.
  using Sizes = std::pair<std::string, std::string>;
  for (const auto& [usual, unusual] :
       {Sizes("4000", "3000"), Sizes("900000", "600000"), Sizes("900000", "2000000")}) {
    for (const Ended& rank : Ranks("size", 3, {"usual=" + usual, "unusual=" + unusual}).wait()) {
      EXPECT_EQ(rank.code, 6);
      EXPECT_THAT(rank.err, AllOf(HasSubstr("out of step"), HasSubstr(usual + " bytes"),
                                  HasSubstr(unusual + " bytes"), HasSubstr("rank 1 on " + host())));
    }
  }
  for (const Ended& rank : Ranks("operation", 3).wait()) {
    EXPECT_EQ(rank.code, 6);
    EXPECT_THAT(rank.err, AllOf(HasSubstr("out of step"), HasSubstr("barrier"),
                                HasSubstr("all_gather with 9 bytes")));
  }
}

TEST(Failure, AnImpostorOnTheConnectionsForDataIsNamed) {
  for (const char* impostor : {"impostor=pair with", "impostor=transport"})
    for (const Ended& rank : Ranks("operations", 3, {}, {{}, {impostor}, {}}).wait()) {
      EXPECT_EQ(rank.code, 6);
      EXPECT_THAT(rank.err, AllOf(HasSubstr("run's secret"), HasSubstr("rank 1 on " + host())));
    }
}

TEST(Failure, AMissingPlugInIsNamed) {
  for (const Ended& rank : Ranks("operations", 2, {"transport=pigeon"}).wait()) {
    EXPECT_NE(rank.code, 0);
    EXPECT_THAT(rank.err, HasSubstr("liblockstep_pigeon.so"));
  }
}

}  // namespace
}  // namespace lockstep::comm
