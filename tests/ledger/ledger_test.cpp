#include "lockstep/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "ledger/some_ledger.h"

namespace lockstep::ledger {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// "ledger.jsonl:5: step 4: " for line 5.
std::string place(std::size_t line) {
  std::string text = "ledger.jsonl:" + std::to_string(line) + ": ";
  if (line > 1) text += "step " + std::to_string(line - 1) + ": ";
  return text;
}

TEST(Ledger, ReadsWhatWasWritten) {
  const Ledger ledger = parse(joined(some_lines(7)), "ledger.jsonl");
  EXPECT_EQ(ledger.header.recipe, some_header().recipe);
  ASSERT_EQ(ledger.entries.size(), 7u);
  for (std::int64_t step = 1; step <= 7; ++step) {
    EXPECT_FALSE(difference(ledger.entries[std::size_t(step - 1)], some_entry(step)));
  }
}

RC_GTEST_PROP(Ledger, RefusesAnyChangedByteAndNamesItsLine, ()) {
  static const std::string text = joined(some_lines(5));
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto flip = *rc::gen::inRange(1, 256);
  std::string changed = text;
  changed[at] = static_cast<char>(changed[at] ^ flip);
  const auto line =
      1 + std::size_t(std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n'));
  const std::string message = refusal(changed);
  RC_ASSERT(message.substr(0, place(line).size()) == place(line));
}

TEST(Ledger, RefusesEveryFlippedBitAndNamesItsLine) {
  const std::string text = joined(some_lines(4));
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_THAT(refusal(changed), StartsWith(place(line))) << "bit " << bit << " of byte " << at;
    }
    line += text[at] == '\n';
  }
}

TEST(Ledger, RefusesADroppedLineAndNamesIt) {
  for (std::size_t i = 1; i < 6; ++i) {  // the last line can be cut off unnoticed
    auto lines = some_lines(6);
    lines.erase(lines.begin() + std::ptrdiff_t(i));
    EXPECT_THAT(refusal(joined(lines)), StartsWith(place(i + 1)));
    EXPECT_THAT(refusal(joined(lines)), HasSubstr("step " + std::to_string(i) + " was dropped"));
  }
  auto headless = some_lines(3);
  headless.erase(headless.begin());
  EXPECT_THAT(refusal(joined(headless)), HasSubstr(":1: not the first line of a ledger"));
}

// A forger who renumbers the lines after a dropped one still meets the chain.
TEST(Ledger, RefusesRenumberedLines) {
  auto lines = some_lines(3);
  lines.erase(lines.begin() + 2);
  lines[2].replace(0, 9, "{\"step\":2");
  EXPECT_THAT(refusal(joined(lines)), HasSubstr("step 2: the chain breaks"));
}

TEST(Ledger, RefusesARepeatedLine) {
  for (std::size_t i = 1; i <= 6; ++i) {
    auto lines = some_lines(6);
    lines.insert(lines.begin() + std::ptrdiff_t(i), lines[i]);
    EXPECT_THAT(refusal(joined(lines)), StartsWith(place(i + 2)));
    EXPECT_THAT(refusal(joined(lines)), HasSubstr("again"));
  }
}

TEST(Ledger, RefusesSwappedLines) {
  for (std::size_t i = 1; i < 6; ++i) {
    for (std::size_t j = i + 1; j <= 6; ++j) {
      auto lines = some_lines(6);
      std::swap(lines[i], lines[j]);
      EXPECT_THAT(refusal(joined(lines)), StartsWith(place(i + 1)));
    }
  }
}

// The same step number, canonical, but from another run.
TEST(Ledger, RefusesALineOfAnotherRun) {
  auto lines = some_lines(4);
  Entry foreign = some_entry(2);
  lines[2] = format_entry(foreign, digest_named("another chain"));
  EXPECT_THAT(refusal(joined(lines)), StartsWith(place(3) + "the chain breaks"));
}

TEST(Ledger, CutAnywhereIsAPrefixOrRefused) {
  const std::string text = joined(some_lines(3));
  const Ledger whole = parse(text, "ledger.jsonl");
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    if (length > 0 && cut.back() == '\n') {
      const Ledger part = parse(cut, "ledger.jsonl");
      EXPECT_FALSE(first_difference(part, whole));
      EXPECT_LT(part.entries.size(), whole.entries.size());
    } else {
      EXPECT_NE(refusal(cut), "") << length;
    }
  }
}

TEST(Ledger, RefusesSpacesAndCarriageReturns) {
  const std::string text = joined(some_lines(2));
  for (const char* extra : {" ", "\r", "\t", "\n"}) {
    for (std::size_t at = 0; at <= text.size(); ++at) {
      std::string changed = text;
      changed.insert(at, extra);
      EXPECT_NE(refusal(changed), "") << at;
    }
  }
}

TEST(Ledger, FindsTheFirstStepWhereTwoRunsPart) {
  const Ledger a = parse(joined(some_lines(6)), "a");
  EXPECT_FALSE(first_difference(a, parse(joined(some_lines(4)), "b")));
  Ledger b = a;
  b.entries[3].state = {};
  b.entries[4].samples = 1;
  const auto found = first_difference(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, Step(4));
  EXPECT_EQ(found->what, "state digest");
  b.header.from = From{{}, Step(3), {}};
  EXPECT_EQ(first_difference(a, b)->what, "the state it starts from");
  b.header.data = {};
  EXPECT_EQ(first_difference(a, b)->step, Step(0));
  EXPECT_EQ(first_difference(a, b)->what, "data");
}

}  // namespace
}  // namespace lockstep::ledger
