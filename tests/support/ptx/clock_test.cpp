// The clock of a warp: what waits for what.
#include "support/ptx/clock.h"

#include <gtest/gtest.h>

#include <optional>

namespace lockstep::test::ptx {
namespace {

using Kind = Instruction::Kind;
using Copies = Instruction::Copies;

constexpr std::uint16_t kLoad = 500, kAdd = 4;

Slot register_number(int n) {
  return slot_of(kSpecials) + static_cast<Slot>(n) * 4 * kLanes;
}

class PtxClock : public testing::Test {
 protected:
  PtxClock() {
    function_.register_bytes = register_number(8);
    clock_.emplace(function_);
    clock_->begin();
  }
  // To a register, of another one.
  void issue(std::uint16_t latency, int to, int from) {
    Instruction i;
    i.results = i.operands = 1;
    i.latency = latency;
    i.slots[0] = register_number(to);
    i.slots[1] = register_number(from);
    clock_->issue(i);
  }
  void branch() {
    Instruction i;
    i.kind = Kind::kBranch;
    clock_->issue(i);
  }
  void copies(Copies what, int newest = 0) {
    Instruction i;
    i.copies = what;
    i.latency = kLoad;
    i.newest = newest;
    clock_->issue(i);
  }
  // From here, when an instruction is issued that reads the register.
  std::uint64_t read(int n) {
    issue(kAdd, 7, n);
    return clock_->now();
  }

  Function function_;
  std::optional<Clock> clock_;
};

TEST_F(PtxClock, AnInstructionWaitsForItsOperands) {
  issue(kLoad, 0, 1);
  issue(kAdd, 1, 0);
  issue(kAdd, 2, 1);
  EXPECT_EQ(read(2), kLoad + 2 * kAdd);
}

TEST_F(PtxClock, LoadsBetweenBranchesAreOnTheirWayTogether) {
  for (int n = 0; n < 4; ++n) {
    issue(kLoad, 0, 1);
    issue(kAdd, 2, 0);
  }
  EXPECT_LT(read(2), kLoad + 20);
}

TEST_F(PtxClock, ALoopWaitsForEachOfItsLoads) {
  for (int n = 0; n < 4; ++n) {
    issue(kLoad, 0, 1);
    issue(kAdd, 2, 0);
    branch();
  }
  EXPECT_GE(read(2), 4 * kLoad);
  EXPECT_LT(read(2), 4 * kLoad + 40);
}

TEST_F(PtxClock, CopiesAreWaitedForByTheGroup) {
  copies(Copies::kBegin);
  copies(Copies::kCommit);
  branch();
  issue(kLoad, 0, 1);
  issue(kAdd, 2, 0);  // at 500 and some
  branch();
  copies(Copies::kBegin);
  copies(Copies::kCommit);
  copies(Copies::kWait, 1);
  EXPECT_LT(clock_->now(), kLoad + 20) << "the first group is there";
  copies(Copies::kWait, 0);
  EXPECT_GE(clock_->now(), 2 * kLoad);
}

TEST_F(PtxClock, WarpsThatMeetGoOnTogether) {
  clock_->go_on_at(300);
  EXPECT_EQ(clock_->now(), 300U);
  EXPECT_EQ(read(1), 301U);
  clock_->go_on_at(100);
  EXPECT_EQ(clock_->now(), 301U);
  clock_->begin();
  EXPECT_EQ(clock_->now(), 0U);
}

}  // namespace
}  // namespace lockstep::test::ptx
