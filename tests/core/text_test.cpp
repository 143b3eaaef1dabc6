#include "lockstep/core/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <clocale>
#include <limits>
#include <locale>

#include "lockstep/core/counted.h"

namespace lockstep {
namespace {

// A decimal comma and grouped digits, for streams always and for C's functions where the machine
// has such a locale.
class CommaLocale {
 public:
  CommaLocale() : streams_(std::locale::global(std::locale(std::locale(), new Comma))) {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"})
      if (std::setlocale(LC_ALL, name)) break;
  }
  ~CommaLocale() {
    std::locale::global(streams_);
    std::setlocale(LC_ALL, "C");
  }

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale streams_;
};

TEST(Numbers, AreWrittenTheSameInEveryLocale) {
  const CommaLocale comma;
  EXPECT_EQ(to_text(0.1f), "0.1");
  EXPECT_EQ(to_text(1234567.5), "1234567.5");
  EXPECT_EQ(to_text(-0.0f), "-0");
  EXPECT_EQ(to_text(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(to_text(-std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(to_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(to_text(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(parse_double("1234.5"), 1234.5);
  EXPECT_EQ(parse_double("1234,5"), std::nullopt);
  EXPECT_EQ(parse_int("1.234"), std::nullopt);
  EXPECT_EQ(fixed(1234567.891, 2), "1234567.89");
  EXPECT_EQ(pad_number(1234567, 8), "01234567");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
}

RC_GTEST_PROP(Numbers, ReadBackToTheSameBits, (std::uint32_t narrow, std::uint64_t wide)) {
  const auto single = std::bit_cast<float>(narrow);
  const auto both = std::bit_cast<double>(wide);
  RC_PRE(single - single == 0 && both - both == 0);
  const auto single_back = parse_double(to_text(single));
  RC_ASSERT(single_back.has_value());
  RC_ASSERT(std::bit_cast<std::uint32_t>(static_cast<float>(*single_back)) == narrow);
  const auto back = parse_double(to_text(both));
  RC_ASSERT(back.has_value());
  RC_ASSERT(std::bit_cast<std::uint64_t>(*back) == wide);
}

TEST(Numbers, AreReadWholeAndFiniteOrNotAtAll) {
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "+1", "--1", "1e5"})
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
  for (const char* text : {"", " 1", "1 ", "1.5x", "nan", "inf", "-inf", "1e999", "0x1p3"})
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_int("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_double("-1.5e-3"), -1.5e-3);
}

TEST(NearestWord, FindsATypo) {
  const std::vector<std::string> keys{"learning_rate", "beta1", "beta2", "weight_decay", "steps"};
  EXPECT_EQ(nearest_word("learning_rat", keys), "learning_rate");
  EXPECT_EQ(nearest_word("lerning_rate", keys), "learning_rate");
  EXPECT_EQ(nearest_word("weigth_decay", keys), "weight_decay");
  EXPECT_EQ(nearest_word("step", keys), "steps");
  EXPECT_EQ(nearest_word("beta1", keys), "beta1");
}

TEST(NearestWord, PrefersTheNearer) {
  EXPECT_EQ(nearest_word("steps", {"stops", "steps", "step"}), "steps");
  EXPECT_EQ(nearest_word("stepz", {"sto", "steps"}), "steps");
}

// Two letters that changed places are one slip.
TEST(NearestWord, IsAtMostAThirdAwayOrBeginsSo) {
  EXPECT_EQ(nearest_word("trian", {"train"}), "train");
  EXPECT_EQ(nearest_word("thraeds", {"threads"}), "threads");
  EXPECT_EQ(nearest_word("dry", {"data", "dry-run"}), "dry-run");
  EXPECT_EQ(nearest_word("max", {"max-restarts", "max-age"}), "max-age");
  EXPECT_EQ(nearest_word("lrr", {"lr"}), "lr");
  EXPECT_EQ(nearest_word("verbose", {"version"}), std::nullopt);
  EXPECT_EQ(nearest_word("epochs", {"steps"}), std::nullopt);
  EXPECT_EQ(nearest_word("n", {"h"}), std::nullopt);
  EXPECT_EQ(nearest_word("ou", {"out"}), std::nullopt);
}

TEST(NearestWord, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_word("zzzzzzzz", {"steps", "seed"}), std::nullopt);
  EXPECT_EQ(nearest_word("steps", {}), std::nullopt);
}

TEST(Counted, HasOneOfOneAlone) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(std::size_t{2}, "step"), "2 steps");
  EXPECT_EQ(counted(1, "step is", "steps are"), "1 step is");
  EXPECT_EQ(counted(std::int64_t{-1}, "step is", "steps are"), "-1 steps are");
}

TEST(Human, TextsAreShort) {
  EXPECT_EQ(human_seconds(4.25), "4.2s");
  EXPECT_EQ(human_seconds(125), "2m 05s");
  EXPECT_EQ(human_seconds(86400 + 2 * 3600 + 180), "1d 02h 03m");
  EXPECT_EQ(human_bytes(0), "0.0 B");
  EXPECT_EQ(pad_number(5, 8), "00000005");
  EXPECT_EQ(pad_number(123456789, 8), "123456789");
}

}  // namespace
}  // namespace lockstep
