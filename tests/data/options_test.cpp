#include "lockstep/data/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace lockstep::data {
namespace {

// Writes down what is described.
class Listing : public Fields {
 public:
  using Text = std::string_view;
  using Int = std::int64_t;
  void field(Text n, Int& v, Int min, Int max, Effect e, Text) override {
    EXPECT_TRUE(min <= v && v <= max) << n << ": the default is out of bounds";
    note(n, e);
  }
  void field(Text n, double& v, double min, double max, Effect e, Text) override {
    EXPECT_TRUE(min <= v && v <= max) << n << ": the default is out of bounds";
    note(n, e);
  }
  void field(Text n, bool&, Effect e, Text) override { note(n, e); }
  void field(Text n, std::string&, Effect e, Text) override { note(n, e); }
  void field(Text n, std::vector<Int>&, Int, Int, Effect e, Text) override { note(n, e); }
  void choice(Text n, std::string& v, const std::vector<std::string>& words, Effect e,
              Text) override {
    EXPECT_NE(std::find(words.begin(), words.end(), v), words.end());
    note(n, e);
  }
  void begin(Text n, Text) override { table = std::string(n) + "."; }
  void end() override { table.clear(); }

  std::string table;
  std::map<std::string, Effect> effects;

 private:
  void note(Text name, Effect effect) { effects[table + std::string(name)] = effect; }
};

std::map<std::string, Effect> effects(const std::string& kind) {
  Options options;
  options.kind = kind;
  Listing listing;
  describe(listing, options);
  return listing.effects;
}

TEST(Options, OnlyThePathCannotChangeBits) {
  using Effects = std::map<std::string, Effect>;
  EXPECT_EQ(effects("images"), (Effects{{"kind", Effect::kBits}, {"path", Effect::kNone}}));
  EXPECT_EQ(effects("mixture"), (Effects{{"kind", Effect::kBits},
                                         {"mixture.modes", Effect::kBits},
                                         {"mixture.radius", Effect::kBits},
                                         {"mixture.stddev", Effect::kBits},
                                         {"mixture.count", Effect::kBits},
                                         {"mixture.seed", Effect::kBits}}));
  EXPECT_EQ(effects("shapes"), (Effects{{"kind", Effect::kBits},
                                        {"shapes.side", Effect::kBits},
                                        {"shapes.count", Effect::kBits},
                                        {"shapes.seed", Effect::kBits}}));
}

}  // namespace
}  // namespace lockstep::data
