#include "lockstep/data/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lockstep/data/image_files.h"
#include "support.h"

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
  void field(Text n, std::vector<double>&, double, double, Effect e, Text) override { note(n, e); }
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

std::map<std::string, Effect> effects(const std::string& kind, std::int64_t classes = 0) {
  Options options;
  options.kind = kind;
  options.classes = classes;
  if (classes > 0) options.kind.as<ImagesOptions>().labels = "labels";
  Listing listing;
  describe(listing, options);
  return listing.effects;
}

TEST(Options, OnlyPathsCannotChangeBits) {
  using Effects = std::map<std::string, Effect>;
  EXPECT_EQ(effects("images"), (Effects{{"kind", Effect::kBits},
                                        {"classes", Effect::kBitsAsBefore},
                                        {"flip", Effect::kBitsAsBefore},
                                        {"crop", Effect::kBitsAsBefore},
                                        {"holdout", Effect::kBitsAsBefore},
                                        {"path", Effect::kNone},
                                        {"labels", Effect::kNoneAsBefore}}));
  for (const char* arrays : {"fields", "signals"})
    EXPECT_EQ(effects(arrays), (Effects{{"kind", Effect::kBits},
                                        {"classes", Effect::kBitsAsBefore},
                                        {"flip", Effect::kBitsAsBefore},
                                        {"crop", Effect::kBitsAsBefore},
                                        {"holdout", Effect::kBitsAsBefore},
                                        {"path", Effect::kNone},
                                        {"labels", Effect::kNone}}));
  EXPECT_EQ(effects("mixture"), (Effects{{"kind", Effect::kBits},
                                         {"classes", Effect::kBitsAsBefore},
                                         {"flip", Effect::kBitsAsBefore},
                                         {"crop", Effect::kBitsAsBefore},
                                         {"holdout", Effect::kBitsAsBefore},
                                         {"mixture.modes", Effect::kBits},
                                         {"mixture.radius", Effect::kBits},
                                         {"mixture.stddev", Effect::kBits},
                                         {"mixture.count", Effect::kBits},
                                         {"mixture.seed", Effect::kBits}}));
  EXPECT_EQ(effects("shapes"), (Effects{{"kind", Effect::kBits},
                                        {"classes", Effect::kBitsAsBefore},
                                        {"flip", Effect::kBitsAsBefore},
                                        {"crop", Effect::kBitsAsBefore},
                                        {"holdout", Effect::kBitsAsBefore},
                                        {"shapes.side", Effect::kBits},
                                        {"shapes.count", Effect::kBits},
                                        {"shapes.seed", Effect::kBits}}));
  EXPECT_EQ(effects("images", 10), (Effects{{"kind", Effect::kBits},
                                            {"classes", Effect::kBits},
                                            {"flip", Effect::kBitsAsBefore},
                                            {"crop", Effect::kBitsAsBefore},
                                            {"holdout", Effect::kBitsAsBefore},
                                            {"path", Effect::kNone},
                                            {"labels", Effect::kNone}}));
}

TEST(Options, FlipAndCropChangeBitsWhereTheyAreOn) {
  Options options;
  options.flip = true;
  options.crop = 2;
  Listing listing;
  describe(listing, options);
  EXPECT_EQ(listing.effects["flip"], Effect::kBits);
  EXPECT_EQ(listing.effects["crop"], Effect::kBits);
}

TEST(Options, PointsAndFilesAreWhatTheKindSays) {
  Options options;
  EXPECT_FALSE(points(options));
  EXPECT_EQ(files(options), std::vector<std::string>{"/usr/share/datasets/fashion-mnist"});
  for (const char* toy : {"mixture", "shapes"}) {
    options.kind = toy;
    EXPECT_EQ(points(options), options.kind == "mixture");
    EXPECT_TRUE(files(options).empty());
    EXPECT_EQ(error_line(Code::kUsage, [&] { move_to(options, "/elsewhere"); }),
              "--data: the recipe makes its data, which lie nowhere (leave it out)");
  }
  options.kind = "images";
  EXPECT_EQ(files(options), std::vector<std::string>{"/usr/share/datasets/fashion-mnist"});
  move_to(options, "/elsewhere");
  EXPECT_EQ(files(options), std::vector<std::string>{"/elsewhere"});
}

}  // namespace
}  // namespace lockstep::data
