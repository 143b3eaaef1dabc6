#include "lockstep/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::HasSubstr;

TEST(Errors, AreOneLineWithTheHintInParentheses) {
  EXPECT_STREQ(Error(Code::kData, "a.bin is cut off").what(), "a.bin is cut off");
  EXPECT_STREQ(Error(Code::kData, "a.bin is cut off", "pack it again").what(),
               "a.bin is cut off (pack it again)");
}

TEST(Errors, KeepCodeAndHintWhenContextIsAdded) {
  const Error outer = Error(Code::kNetwork, "rank 3 is gone", "see its log").within("step 12");
  EXPECT_EQ(outer.code(), Code::kNetwork);
  EXPECT_STREQ(outer.what(), "step 12: rank 3 is gone (see its log)");
}

TEST(Asserts, ThrowABugThatNamesTheExpressionAndTheValues) {
  const int lanes = 3;
  try {
    LOCKSTEP_ASSERT(lanes == 4, "lanes " + std::to_string(lanes));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug);
    EXPECT_THAT(error.what(), HasSubstr("lanes == 4"));
    EXPECT_THAT(error.what(), HasSubstr("error_test.cpp"));
    EXPECT_THAT(error.what(), HasSubstr("lanes 3"));
  }
  EXPECT_NO_THROW(LOCKSTEP_ASSERT(lanes == 3));
}

}  // namespace
}  // namespace lockstep
