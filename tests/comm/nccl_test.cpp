// NCCL's plug-in between processes, on a stand-in for NCCL (support/nccl): bytes arrive, and
// failures are told as those of Gloo are, by the same lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "lockstep/core/clock.h"
#include "processes.h"

namespace lockstep::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Ranks over_nccl(const std::string& scenario, int world, std::vector<std::string> common = {},
                const std::vector<std::vector<std::string>>& more = {}) {
  common.emplace_back("transport=nccl");
  return Ranks(scenario, world, common, more, "ptx/comm_rank");
}

TEST(Nccl, MovesTheBytesThatGlooMoves) {
  std::vector<Ended> nccl = over_nccl("operations", 2).wait(), gloo = Ranks("operations", 2).wait();
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(nccl[r].code, 0) << nccl[r].err;
    EXPECT_EQ(nccl[r].out, gloo[r].out);
  }
}

// 10 MiB each way, of 16 for both; of the GPU's 4 GiB NCCL has left 17 MiB.
TEST(Nccl, MovesWhatIsLargerThanItsBuffer) {
  const std::size_t taken = (std::size_t{4} << 30) - (std::size_t{17} << 20);
  const std::string little = "env=LOCKSTEP_NCCL_BUFFERS:" + std::to_string(taken);
  std::vector<Ended> nccl = over_nccl("operations", 2, {"large=1", little}).wait(),
                     gloo = Ranks("operations", 2, {"large=1"}).wait();
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(nccl[r].code, 0) << nccl[r].err;
    EXPECT_EQ(nccl[r].out, gloo[r].out);
  }
}

struct Blow {
  const char* scenario;
  int rank, signal;
};
class NcclStruck : public testing::TestWithParam<Blow> {};

TEST_P(NcclStruck, RankIsNamedByTheOther) {
  const auto [scenario, victim, signal] = GetParam();
  Ranks ranks = over_nccl(scenario, 2, {"deadline=8"});
  for (int r = 0; r < 2; ++r) ranks[r].wait_for_output("ready");
  ranks[victim].signal(signal);
  const double struck = monotonic_seconds();
  const Ended ended = ranks[1 - victim].wait();
  EXPECT_EQ(ended.code, 6) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank " + std::to_string(victim) + " on "),
                               HasSubstr(signal == SIGSTOP ? "no sign of life" : "was lost")));
  EXPECT_LT(monotonic_seconds() - struck, 9);
}

INSTANTIATE_TEST_SUITE_P(Blows, NcclStruck,
                         testing::Values(Blow{"barriers", 1, SIGKILL}, Blow{"large", 0, SIGKILL},
                                         Blow{"large", 1, SIGSTOP}));

TEST(Nccl, ARankThatDoesNotComeToAnOperationIsNamed) {
  const Ended ended = over_nccl("stuck", 2, {"deadline=4", "odd=1"})[0].wait();
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("did not finish in 4.0 s"), HasSubstr("did not begin it")));
}

TEST(Nccl, ASendThatFailsIsTold) {
  for (const Ended& rank :
       over_nccl("barriers", 2, {}, {{}, {"env=LOCKSTEP_NCCL_LOST:20"}}).wait()) {
    EXPECT_EQ(rank.code, 6);
    EXPECT_THAT(rank.err,
                AllOf(HasSubstr("barrier (operation "), HasSubstr("remote process exited"),
                      HasSubstr("(NCCL's last warning: said by the stand-in for NCCL)")));
  }
}

// As where a GPU hangs.
TEST(Nccl, AnAbortThatNeverEndsKeepsNoRank) {
  const std::vector<Ended> ended =
      over_nccl("barriers", 2, {}, {{}, {"env=LOCKSTEP_NCCL_LOST:20", "env=LOCKSTEP_NCCL_STUCK:1"}})
          .wait();
  for (const Ended& rank : ended) EXPECT_EQ(rank.code, 6);
  EXPECT_THAT(ended[1].err,
              AllOf(HasSubstr("barrier (operation "), HasSubstr("remote process exited")));
}

// CUDA keeps the thread that waits for NCCL, behind another one that waits for the GPU.
TEST(Nccl, ARankWhoseLookNeverEndsGivesUpTheOther) {
  const std::string loading = "env=LOCKSTEP_PTX_LOADING:1";
  {
    const Ended ended = over_nccl("stuck", 2, {"deadline=4", "odd=1", loading})[0].wait();
    EXPECT_EQ(ended.code, 6);
    EXPECT_THAT(ended.err,
                AllOf(HasSubstr("did not finish in 4.0 s"), HasSubstr("did not begin it")));
  }
  {  // nor does NCCL's abort end: the rank has to
    const Ended ended = over_nccl("stuck", 2, {"deadline=4", "odd=1"},
                                  {{loading, "env=LOCKSTEP_NCCL_STUCK:1"}, {}})[0]
                            .wait();
    EXPECT_EQ(ended.code, 6);
    EXPECT_THAT(ended.err, HasSubstr("rank 0: the GPU hangs"));
  }
  {  // nor does NCCL return, which asks CUDA before it sends
    const Ended ended =
        over_nccl("stuck", 2, {"deadline=4", "odd=1"}, {{"env=LOCKSTEP_NCCL_KEPT:1"}, {}})[0]
            .wait();
    EXPECT_EQ(ended.code, 6);
    EXPECT_THAT(ended.err, HasSubstr("rank 0: the GPU hangs"));
  }
  Ranks ranks = over_nccl("barriers", 2, {loading});
  for (int r = 0; r < 2; ++r) ranks[r].wait_for_output("ready");
  ranks[1].signal(SIGKILL);
  const Ended ended = ranks[0].wait();
  EXPECT_EQ(ended.code, 6) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank 1 on "), HasSubstr("was lost")));
}

// NCCL's last call waits for the host's other ranks, one of which may have stopped in its own.
TEST(Nccl, ARankThatNeverEndsKeepsNoOther) {
  Ranks ranks = over_nccl("operations", 2, {"handshake=2"}, {{}, {"env=LOCKSTEP_NCCL_STAYS:1"}});
  const Ended ended = ranks[0].wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  ranks[1].signal(SIGKILL);
}

// Before bytes of the wrong size leave, which NCCL would not notice.
TEST(Nccl, ARankOutOfStepIsNamed) {
  for (const Ended& rank : over_nccl("size", 2, {"usual=900000", "unusual=600000"}).wait()) {
    EXPECT_EQ(rank.code, 6);
    EXPECT_THAT(rank.err, AllOf(HasSubstr("out of step"), HasSubstr("900000 bytes")));
  }
}

TEST(Nccl, AGroupThatAnErrorEndsStopsTheOthers) {
  for (const char* scenario : {"throw", "drop"}) {  // drop: while an operation is under way
    const std::vector<Ended> ended = over_nccl(scenario, 2, {"odd=1"}).wait();
    EXPECT_EQ(ended[1].code, 7);
    EXPECT_EQ(ended[0].code, 6);
    EXPECT_THAT(ended[0].err, HasSubstr("it ended with an error"));
  }
}

TEST(Nccl, VersionsThatDifferAreToldBeforeRanksConnect) {
  const std::vector<Ended> ended =
      over_nccl("operations", 2, {}, {{}, {"env=LOCKSTEP_NCCL_VERSION:22005"}}).wait();
  for (const Ended& rank : ended) {
    EXPECT_EQ(rank.code, 6);
    EXPECT_THAT(rank.err, AllOf(HasSubstr("NCCL 2.20.5 and a driver of CUDA "),
                                HasSubstr("all ranks need the same")));
  }
  for (const Ended& rank :
       over_nccl("operations", 2, {}, {{}, {"env=LOCKSTEP_PTX_DRIVER:13080"}}).wait())
    EXPECT_THAT(rank.err, HasSubstr("and a driver of CUDA 13.8"));
}

TEST(Nccl, AnEnvironmentThatTakesDeadlinesAwayIsTold) {
  for (const Ended& rank : over_nccl("operations", 2, {"env=NCCL_COMM_BLOCKING:1"}).wait()) {
    EXPECT_EQ(rank.code, 4);
    EXPECT_THAT(rank.err,
                HasSubstr("NCCL_COMM_BLOCKING=1 would take away all deadlines: unset it"));
  }
}

// The stand-in for CUDA has two GPUs.
TEST(Nccl, RanksOnOneGpuAreTold) {
  for (const Ended& rank : over_nccl("operations", 3).wait()) {
    EXPECT_EQ(rank.code, 6);
    EXPECT_THAT(rank.err, AllOf(HasSubstr("are on one GPU, and NCCL needs one a rank"),
                                HasSubstr("LOCKSTEP_TRANSPORT=gloo")));
  }
}

// An operation has its bytes in GPUs' memory on all ranks or on none.
TEST(Nccl, TakesGpusMemoryWhereAllRanksComputeThere) {
  for (const Ended& rank : over_nccl("memory", 2, {}, {{"gpu=1"}, {"gpu=0"}}).wait())
    EXPECT_EQ(rank.out, "GPUs'\n") << rank.err;
  for (const Ended& rank : over_nccl("memory", 2, {}, {{"gpu=0"}, {}}).wait())
    EXPECT_EQ(rank.out, "the host's\n") << rank.err;
  EXPECT_EQ(Ranks("memory", 2, {"gpu=0"})[0].wait().out, "the host's\n");  // over Gloo
}

TEST(Nccl, AnImpostorIsNamed) {
  for (const Ended& rank : over_nccl("operations", 2, {}, {{}, {"impostor=transport"}}).wait()) {
    EXPECT_EQ(rank.code, 6);
    EXPECT_THAT(rank.err, AllOf(HasSubstr("run's secret"), HasSubstr("rank 1 on ")));
  }
}

}  // namespace
}  // namespace lockstep::comm
