// Says how many of a program's tests asked for the GPU: the others compute on the CPU alone.
#include <gtest/gtest.h>

#include <cstdio>

#include "gpu_programs/calls.h"

namespace lockstep::test::gpu {
namespace {

class Counting : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { before_ = calls_for_gpu(); }
  void OnTestEnd(const testing::TestInfo&) override {
    if (calls_for_gpu() > before_) ++tests_;
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    std::printf("%d tests computed on the GPU\n", tests_);
  }

  int before_ = 0, tests_ = 0;
};

[[maybe_unused]] const bool kCounted = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Counting);
  return true;
}();

}  // namespace
}  // namespace lockstep::test::gpu
