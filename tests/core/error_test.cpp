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

TEST(Errors, ShowForeignBytesInOneLineOfPrintableUtf8) {
  const auto shown = [](const std::string& text) {
    return std::string(Error(Code::kData, text).what());
  };
  EXPECT_EQ(shown("key 'a\nb\r\t\x7f\x1b[2J'"), "key 'a\\x0ab\\x0d\\x09\\x7f\\x1b[2J'");
  EXPECT_EQ(shown("Gr\u00f6\u00dfe \u20ac \U0001f600"), "Gr\u00f6\u00dfe \u20ac \U0001f600");
  EXPECT_EQ(shown("\xff \xc3"), "\\xff \\xc3");                  // not UTF-8, cut off
  EXPECT_EQ(shown("\xc0\xaf"), "\\xc0\\xaf");                    // '/' in too many bytes
  EXPECT_EQ(shown("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // the same
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a surrogate pair
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(shown("\xc2\x9b"), "\\xc2\\x9b");                    // a control character
  EXPECT_EQ(shown("\u202eh5.1 \u2028"), "\\xe2\\x80\\xaeh5.1 \\xe2\\x80\\xa8");  // turned around
  EXPECT_EQ(shown(std::string("a\0b", 3)), "a\\x00b");
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
