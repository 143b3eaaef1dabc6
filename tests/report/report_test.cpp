// The page about a run: what a curve keeps of its points, and what of a folder becomes markup. The
// whole page: tests/cli/report_page_test.py.
#include "lockstep/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "lockstep/train/witness_lanes.h"
#include "report/curve.h"
#include "report/draw.h"
#include "report/facts.h"
#include "report/html.h"
#include "report/replays.h"
#include "train/some_run.h"

namespace lockstep::report {
namespace {

using lockstep::testing::SomeRun;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::vector<Point> steps(const std::vector<double>& values) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i)
    points.push_back({static_cast<double>(i + 1), values[i]});
  return points;
}

std::vector<std::size_t> sizes(const Envelope& curve) {
  std::vector<std::size_t> result;
  for (const auto& piece : curve.pieces) result.push_back(piece.size());
  return result;
}

TEST(Envelope, OfFewPointsIsThePoints) {
  const Envelope curve = envelope(steps({3, 1, 2}), 100, Gaps::kByDistance);
  EXPECT_FALSE(curve.binned);
  ASSERT_THAT(sizes(curve), ElementsAre(3));
  EXPECT_EQ(curve.pieces[0][1].x(), 2);
  EXPECT_EQ(curve.pieces[0][1].mean, 1);
  EXPECT_EQ(curve.low, 1);
  EXPECT_EQ(curve.high, 3);
}

TEST(Envelope, OfNothingAndOfOnePoint) {
  EXPECT_TRUE(envelope({}, 10, Gaps::kByDistance).empty());
  const Envelope one = envelope(steps({7}), 10, Gaps::kByDistance);
  EXPECT_THAT(sizes(one), ElementsAre(1));
  EXPECT_EQ(one.low, 7);
  EXPECT_EQ(one.high, 7);
}

TEST(Envelope, BreaksAtValuesThatAreNotFiniteAndCountsThem) {
  const auto points = steps({1, 2, kNan, 3, kInfinite, -kInfinite, 4, 5, 6});
  const Envelope curve = envelope(points, 100, Gaps::kByDistance);
  EXPECT_THAT(sizes(curve), ElementsAre(2, 1, 3));
  EXPECT_EQ(curve.not_finite, 3);
  EXPECT_THAT(curve.odd, ElementsAre(3, 5, 6));
  EXPECT_EQ(curve.high, 6);
  const Envelope none = envelope(steps({kNan, kInfinite}), 100, Gaps::kByDistance);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.not_finite, 2);
}

TEST(Envelope, BreaksWhereStepsAreMissing) {
  std::vector<Point> points = {{1, 1}, {2, 1}, {3, 1}, {9, 1}, {10, 1}};
  EXPECT_THAT(sizes(envelope(points, 100, Gaps::kByDistance)), ElementsAre(3, 2));
  EXPECT_THAT(sizes(envelope(points, 100, Gaps::kNone)), ElementsAre(5));
  for (Point& point : points) point.x *= 10;  // every tenth step, as monitors look
  EXPECT_THAT(sizes(envelope(points, 100, Gaps::kByDistance)), ElementsAre(3, 2));
}

TEST(Envelope, KeepsEverySpike) {
  std::vector<double> values(100000, 1.0);
  values[31234] = 50;
  values[77777] = -50;
  values[5000] = kNan;
  const Envelope curve = envelope(steps(values), 360, Gaps::kByDistance);
  EXPECT_TRUE(curve.binned);
  EXPECT_EQ(curve.high, 50);
  EXPECT_EQ(curve.low, -50);
  EXPECT_EQ(curve.not_finite, 1);
  ASSERT_THAT(sizes(curve), ElementsAre(360));  // the NaN's neighbours keep its column
  double highest = 0;
  for (const Column& column : curve.pieces[0]) highest = std::max(highest, column.high);
  EXPECT_EQ(highest, 50);
}

TEST(Envelope, WeighsTheMean) {
  std::vector<Point> points;  // 1 s at 1 step/s, then 10 steps in 1 s: 11 steps in 2 s
  points.push_back({1, 1, 1});
  for (int i = 1; i <= 10; ++i) points.push_back({1 + 0.1 * i, 10, 0.1});
  const Envelope curve = envelope(points, 1, Gaps::kNone);
  ASSERT_THAT(sizes(curve), ElementsAre(1));
  EXPECT_NEAR(curve.pieces[0][0].mean, 5.5, 1e-12);
}

RC_GTEST_PROP(Envelope, HoldsAllFiniteValuesOnceInOrder, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 3000);
  const auto columns = *rc::gen::inRange<std::size_t>(1, 400);
  const auto values = *rc::gen::container<std::vector<double>>(count, rc::gen::arbitrary<double>());
  std::vector<double> mixed = values;
  for (std::size_t i = 0; i < mixed.size(); i += 7) mixed[i] = kNan;
  const Envelope curve = envelope(steps(mixed), columns, Gaps::kByDistance);
  std::int64_t points = 0;
  double before = 0;
  for (const auto& piece : curve.pieces)
    for (const Column& column : piece) {
      points += column.points;
      RC_ASSERT(column.first > before && column.first <= column.last);
      RC_ASSERT(column.low <= column.mean && column.mean <= column.high);
      RC_ASSERT(curve.low <= column.low && column.high <= curve.high);
      before = column.last;
    }
  RC_ASSERT(points + curve.not_finite == static_cast<std::int64_t>(count));
}

TEST(Ticks, AreRoundAndFew) {
  EXPECT_THAT(ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(ticks(-1, 1, 4), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(log_ticks(0.5, 2000), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(log_ticks(1, 100), ElementsAre(1, 5, 20, 100));
  for (const double end : {1e-300, 1e-12, 3.0, 1e15, 1e299}) {
    EXPECT_LE(ticks(0, end, 4).size(), 5U) << end;
    EXPECT_LE(ticks(-end, end, 4).size(), 5U) << end;
  }
  EXPECT_TRUE(ticks(1, 1, 4).empty());
  EXPECT_TRUE(ticks(1e17, 1e17 + 32, 4).empty());
  EXPECT_TRUE(ticks(0, kNan, 4).empty());
}

TEST(Ticks, HaveTheDigitsThatMakeThemDiffer) {
  EXPECT_THAT(tick_labels({0, 20, 40}), ElementsAre("0", "20", "40"));
  EXPECT_THAT(tick_labels({0, 0.5, 1}), ElementsAre("0.0", "0.5", "1.0"));
  EXPECT_THAT(tick_labels(ticks(0.49991, 0.50001, 5)),
              ElementsAre("0.49992", "0.49994", "0.49996", "0.49998", "0.50000"));
  EXPECT_THAT(tick_labels({1e-9, 2e-9}), ElementsAre("1e-09", "2e-09"));
  EXPECT_THAT(tick_labels({-1e12, 0, 1e12}), ElementsAre("-1e+12", "0", "1e+12"));
  for (const double low : {0.0, 0.3, 7.0, 1e-8, 123456.0}) {
    for (double range = 1e-7; range < 1e9; range *= 3) {
      const auto names = tick_labels(ticks(low, low + range, 5));
      EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size())
          << low << " " << range;
    }
  }
}

Chart chart(const std::vector<double>& values) {
  Chart result;
  result.title = "loss";
  result.points = steps(values);
  result.x_name = "step";
  result.x_first = 1;
  result.x_last = static_cast<double>(values.size());
  result.may_be_logarithmic = true;
  return result;
}

TEST(Chart, SaysInWordsWhatItShows) {
  EXPECT_THAT(draw(chart({2, 0.5, 1})).markup,
              HasSubstr("last 1; lowest 0.5 at step 2; highest 2 at step 1"));
  EXPECT_THAT(draw(chart({2, kNan, 1})).markup, HasSubstr("1 value is not finite (▼)"));
  EXPECT_THAT(draw(chart({kNan})).markup, HasSubstr("no finite values"));
  EXPECT_THAT(draw(chart({1})).markup, HasSubstr("<circle"));
  EXPECT_THAT(draw(chart({1000, 1})).markup, HasSubstr("logarithmic"));
  EXPECT_THAT(draw(chart({1000, 0})).markup, Not(HasSubstr("logarithmic")));
}

TEST(Chart, HasNoCoordinateThatIsNoNumber) {
  for (const auto& values : std::vector<std::vector<double>>{{0, 0},
                                                             {1e308, -1e308},
                                                             {1e300, 1},
                                                             {-1e299, 1e299},
                                                             {5e-324, 1},
                                                             {kInfinite, 3, 3},
                                                             {1e-300, 1e300}}) {
    Chart one = chart(values);
    for (const bool logarithmic : {false, true}) {
      one.may_be_logarithmic = logarithmic;
      const std::string svg = draw(one).markup;
      for (const char* bad : {"=\"nan", "=\"-nan", "=\"inf", "=\"-inf", "Lnan", "Mnan", " nan"})
        EXPECT_THAT(svg, Not(HasSubstr(bad)));
    }
  }
}

TEST(Html, EscapesWhatComesFromOutside) {
  EXPECT_EQ(escaped("<script>&\"'"), "&lt;script&gt;&amp;&quot;&#39;");
  EXPECT_EQ(element("p", {{"title", "\"><b>"}}, text("<i>")).markup,
            "<p title=\"&quot;&gt;&lt;b&gt;\">&lt;i&gt;</p>");
  EXPECT_EQ(escaped("größer, 大\n\t"), "größer, 大\n\t");
}

TEST(Html, HasNothingThatIsNotUtf8OrTurnsTextAround) {
  const std::string gone = "\xEF\xBF\xBD";
  for (const std::string bad : {"\xFF", "\x80", "\x01", "\x7F", "\r", "\xC2\x85", "\xE2\x80\xAE",
                                "\xE2\x81\xA6", "\xEF\xBF\xBE", "\xE2\x80\x8F"})
    EXPECT_EQ(escaped("a" + bad + "b"), "a" + gone + "b") << to_hex(as_bytes(bad));
  EXPECT_EQ(escaped("\xC0\xBC"), gone + gone);             // an overlong <
  EXPECT_EQ(escaped("\xED\xA0\x80"), gone + gone + gone);  // a surrogate
  EXPECT_EQ(escaped("\xE5\xA4"), gone + gone);             // cut
  EXPECT_EQ(escaped(std::string_view("\0", 1)), gone);
}

TEST(Html, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("größer", 3), "gr…");
  EXPECT_EQ(shortened("größer", 4), "grö…");
  EXPECT_EQ(shortened("abc", 3), "abc");
}

TEST(Html, WritesNumbersAndBase64) {
  EXPECT_EQ(brief(300), "300");
  EXPECT_EQ(brief(0.00123456), "0.001235");
  EXPECT_EQ(brief(44982.24), "44982");
  EXPECT_EQ(brief(1e-9), "1e-09");
  EXPECT_EQ(brief(kNan), "NaN");
  for (const auto& [plain, coded] : {std::pair("", ""),
                                     {"f", "Zg=="},
                                     {"fo", "Zm8="},
                                     {"foo", "Zm9v"},
                                     {"foobar", "Zm9vYmFy"}})  // RFC 4648
    EXPECT_EQ(base64(as_bytes(plain)), coded);
}

TEST(Html, LeavesRowsOutInTheMiddleAndSaysSo) {
  std::vector<Row> rows;
  for (int i = 0; i < 10; ++i) rows.push_back({{text("r" + std::to_string(i))}});
  const std::string short_table = table({"a"}, rows, 4).markup;
  for (const char* kept : {"r0", "r1", "r8", "r9", "6 not shown"})
    EXPECT_THAT(short_table, HasSubstr(kept));
  for (const char* gone : {"r2", "r7"}) EXPECT_THAT(short_table, Not(HasSubstr(gone)));
}

std::string metrics_line(int attempt, int step, double norm) {
  return "{\"attempt\":" + std::to_string(attempt) + ",\"step\":" + std::to_string(step) +
         ",\"gradient_norm\":{\"a\":" + std::to_string(norm) +
         "},\"seconds\":0.5,\"time\":" + std::to_string(1000 + step) + "}\n";
}

TEST(Metrics, CountOfAStepThatWasDoneTwiceTheLastTime) {
  Facts facts;
  read_metrics(metrics_line(1, 1, 10) + metrics_line(1, 2, 20) + metrics_line(1, 3, 30) +
                   "{\"step\":\n\n[1]\n" + metrics_line(2, 3, 33) + metrics_line(2, 4, 44),
               facts);
  ASSERT_EQ(facts.metrics.series.size(), 1U);
  std::vector<double> values;
  for (const Point& point : facts.metrics.series[0].points) values.push_back(point.y);
  EXPECT_THAT(values, ElementsAre(10, 20, 33, 44));
  EXPECT_EQ(facts.metrics.unreadable, 2);
  EXPECT_EQ(facts.attempts.at(2).again, 1);
  EXPECT_EQ(facts.attempts.at(2).first, 3);
  EXPECT_EQ(facts.attempts.at(2).offset, 1.5);
  EXPECT_EQ(facts.metrics.speed.size(), 5U);  // of all that was computed
}

TEST(Metrics, OfManyNamesAreLeftOut) {
  std::string line = "{\"step\":1,\"seconds\":1,\"monitor\":{";
  for (int i = 0; i < 100; ++i)
    line += (i > 0 ? ",\"m" : "\"m") + std::to_string(i) + "\":" + std::to_string(i);
  Facts facts;
  read_metrics(line + "}}\n", facts);
  EXPECT_EQ(facts.metrics.series.size(), 24U);
  EXPECT_EQ(facts.metrics.left_out, 76);
}

// A ledger of so many steps, and replays of these windows, each with whether it agreed.
Facts replays(std::size_t steps, const std::vector<std::pair<Window, bool>>& done) {
  Facts facts;
  facts.ledger.entries.resize(steps);
  for (const auto& [window, agreed] : done)
    facts.replays.push_back(
        {{"agrees", agreed},
         {"windows", std::vector<Json>{{{"started", window.from - 1}, {"to", window.to}}}}});
  return facts;
}

TEST(Replays, SayWhichStepsWereComputedAgainAndWhichWereNot) {
  EXPECT_EQ(coverage(replays(300, {{{1, 70}, true}})),
            "Steps 1 to 70 of 300 were computed again and agreed; 71 to 300 were not.");
  EXPECT_EQ(coverage(replays(40, {{{21, 30}, true}, {{7, 7}, true}, {{25, 35}, true}})),
            "Steps 7 and 21 to 35 of 40 were computed again and agreed; 1 to 6, 8 to 20 and 36 to "
            "40 were not.");
  EXPECT_EQ(coverage(replays(40, {{{1, 20}, true}, {{21, 40}, true}})),
            "All 40 steps were computed again and agreed.");
  EXPECT_EQ(coverage(replays(40, {{{1, 40}, false}})), "");
  EXPECT_EQ(coverage(replays(40, {})), "");
  std::vector<std::pair<Window, bool>> many;
  for (std::int64_t i = 1; i <= 10; ++i) many.push_back({{3 * i, 3 * i}, true});
  EXPECT_THAT(coverage(replays(40, many)),
              HasSubstr("Steps 3, 6, 9, 12, 15, 18 and 4 more ranges of 40"));
}

TEST(Witnesses, AreCountedWithoutTraining) {
  recipe::Recipe recipe = lockstep::testing::small_gan({"evidence.witness_rate=0.5"});
  std::int64_t drawn = 0, seen = 0;
  train::Training training = train::make_training(recipe, {2}, {.world = 3});
  for (int i = 0; i < 50; ++i) {
    training.state.step = Step(i);
    std::vector<Lane> lanes;
    for (const train::Witnessed& one : train::witnessed_lanes(training)) lanes.push_back(one.lane);
    EXPECT_EQ(lanes, train::drawn_lanes(recipe, Step(i)));
    drawn += static_cast<std::int64_t>(lanes.size());
    seen += recipe.batch.lanes;
  }
  EXPECT_GT(drawn, seen / 4);
  EXPECT_LT(drawn, seen * 3 / 4);
}

TEST(Report, OverwritesNothingButPages) {
  const SomeRun run;
  for (const char* name : {"ledger.jsonl", "recipe.toml", "page"}) {
    try {
      write_report({.folder = run.path(), .out = run.path() / name, .key = {}});
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage) << error.what();
    }
  }
  EXPECT_EQ(audit::verify(run.path()).code(), Code::kOk);
  EXPECT_EQ(write_report({.folder = run.path(), .out = {}, .key = {}}).out,
            run.path() / "report.html");
  EXPECT_EQ(audit::verify(run.path()).code(), Code::kOk);
}

}  // namespace
}  // namespace lockstep::report
