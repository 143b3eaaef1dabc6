#include "lockstep/ledger/format.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <limits>

#include "ledger/some_ledger.h"

namespace lockstep::ledger {
namespace {

std::string_view without_lf(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

Entry arbitrary_entry() {
  Entry entry;
  entry.step = Step(*rc::gen::inRange<std::int64_t>(1, std::numeric_limits<std::int64_t>::max()));
  entry.samples = *rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
  const auto phases = *rc::gen::inRange(0, 4);
  for (int i = 0; i < phases; ++i) {
    const auto bits = *rc::gen::arbitrary<std::uint32_t>() ^ *rc::gen::inRange(0, 1 << 30) * 8u;
    entry.losses.emplace_back("phase_" + std::to_string(i), std::bit_cast<float>(bits));
  }
  entry.before = digest_named(*rc::gen::arbitrary<std::string>());
  entry.state = digest_named(*rc::gen::arbitrary<std::string>());
  if (*rc::gen::arbitrary<bool>()) entry.commit = digest_named("commit");
  if (*rc::gen::arbitrary<bool>())
    entry.validation = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
  if (*rc::gen::arbitrary<bool>())
    entry.evaluation = {{"recall", std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>())}};
  return entry;
}

RC_GTEST_PROP(LedgerLine, ReadsBackToWhatWasWritten, ()) {
  const auto previous = digest_named(*rc::gen::arbitrary<std::string>());
  Entry entry = arbitrary_entry();
  const std::string line = format_entry(entry, previous);
  Entry read = parse_entry(without_lf(line), previous);
  RC_ASSERT(!difference(entry, read));
  RC_ASSERT(read.chain == entry.chain);
  RC_ASSERT(format_entry(read, previous) == line);
}

// 7.038531e-26 is the binary32 number that reading by way of binary64 gets wrong.
TEST(LedgerLine, KeepsEveryBitOfALoss) {
  for (const float loss :
       {0.0f, -0.0f, 1.0f, 7.038531e-26f, 1e-45f, std::numeric_limits<float>::max(),
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    Entry entry = some_entry(1);
    entry.losses = {{"d", loss}};
    const std::string line = format_entry(entry, {});
    const Entry read = parse_entry(without_lf(line), {});
    EXPECT_EQ(std::bit_cast<std::uint32_t>(read.losses.at(0).second),
              std::bit_cast<std::uint32_t>(loss))
        << line;
  }
}

TEST(LedgerLine, WritesEveryNanTheSame) {
  Entry a = some_entry(1), b = some_entry(1);
  a.losses = {{"d", std::bit_cast<float>(0x7fc00000u)}};
  b.losses = {{"d", std::bit_cast<float>(0xffc12345u)}};
  EXPECT_EQ(format_entry(a, {}), format_entry(b, {}));
  EXPECT_FALSE(difference(a, b));
}

TEST(LedgerLine, SaysWhatDiffers) {
  const Entry entry = some_entry(3);
  const auto what = [&](auto&& change) {
    Entry other = some_entry(3);
    change(other);
    return difference(entry, other).value_or("nothing");
  };
  EXPECT_EQ(what([](Entry&) {}), "nothing");
  EXPECT_EQ(what([](Entry& e) { e.samples++; }), "sample count");
  EXPECT_EQ(what([](Entry& e) { e.losses[1].second = 2; }), "loss of phase generator");
  EXPECT_EQ(what([](Entry& e) { e.losses[1].first = "g"; }), "phases");
  EXPECT_EQ(what([](Entry& e) { e.state = {}; }), "state digest");
  EXPECT_EQ(what([](Entry& e) { e.before = {}; }), "digest of the state before the update");
  EXPECT_EQ(what([](Entry& e) { e.commit.reset(); }), "commitment to the state's bytes");
  EXPECT_EQ(what([](Entry& e) { e.validation = 0.5F; }), "loss on held-out samples");
  EXPECT_EQ(what([](Entry& e) { e.evaluation = {{"recall", 0.5}}; }), "evaluation");
  Entry a = some_entry(3), b = some_entry(3);
  a.evaluation = {{"precision", 1.0}, {"recall", 0.5}};
  b.evaluation = {{"precision", 1.0}, {"recall", 0.25}};
  EXPECT_EQ(difference(a, b), "recall of the samples");
  a = some_entry(3), b = some_entry(3);
  a.validation = 0.5F, b.validation = 0.25F;
  EXPECT_EQ(difference(a, b), "loss on held-out samples");
}

TEST(LedgerLine, HasTheEvaluationBehindTheLosses) {
  Entry entry = some_entry(1);
  entry.losses = {{"d", 1.0F}};
  entry.validation = 2.0F;
  entry.evaluation = {{"frechet_distance", 217.72852326816837}, {"recall", 0.0}};
  const std::string line = format_entry(entry, {});
  EXPECT_NE(line.find("\"loss\":{\"d\":1},\"validation\":2,\"evaluation\":{\"frechet_distance\":"
                      "217.72852326816837,\"recall\":0},\"before\":"),
            std::string::npos)
      << line;
  std::string none = line;
  const std::size_t at = none.find("\"frechet_distance\"");
  none.erase(at, none.find('}', at) - at);
  EXPECT_THROW(parse_entry_unchained(without_lf(none)), Error);
}

TEST(LedgerHeader, NamesTheStateOfAnotherRunThatItStartsFrom) {
  Header header = some_header();
  const std::string plain(without_lf(format_header(header)));
  EXPECT_EQ(plain.find("from"), std::string::npos);
  header.from = From{digest_named("parent"), Step(500), digest_named("start")};
  const std::string line(without_lf(format_header(header)));
  EXPECT_NE(line.find(",\"semantics\":3,\"from\":{\"recipe\":\"" + header.from->recipe.hex() +
                      "\",\"step\":500,\"state\":\"" + header.from->state.hex() + "\"},\"chain\":"),
            std::string::npos)
      << line;
  EXPECT_EQ(parse_header(line), header);
  for (const char* part : {"\"step\":500", "\"from\":", "\"state\":"}) {
    std::string changed = line;
    changed.erase(changed.find(part), 1);
    EXPECT_THROW(parse_header(changed), Error) << part;
  }
  header.from->step = Step(0);
  const std::string none(without_lf(format_header(header)));
  EXPECT_THROW(parse_header(none), Error);
}

TEST(LedgerHeader, RefusesAnotherVersion) {
  Header header = some_header();
  std::string line(without_lf(format_header(header)));
  EXPECT_EQ(parse_header(line), header);
  line.replace(line.find("\"version\":1"), 11, "\"version\":2");
  try {
    parse_header(line);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("version 2"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace lockstep::ledger
