#include "lockstep/recipe/canonical.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <clocale>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/recipe/load.h"

namespace lockstep::recipe {
namespace {

// Any value a field may have.
class Randomizer final : public Fields {
 public:
  void field(std::string_view name, std::int64_t& value, std::int64_t min, std::int64_t max, Effect,
             std::string_view) override {
    (void)name;
    value = integer(min, max);
  }
  void field(std::string_view, double& value, double min, double max, Effect,
             std::string_view) override {
    value = real(min, max);
  }
  void field(std::string_view, bool& value, Effect, std::string_view) override {
    value = *rc::gen::arbitrary<bool>();
  }
  void field(std::string_view name, std::string& value, Effect, std::string_view) override {
    if (name == "name") {
      value = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z')));
      return;
    }
    if (name == "recipe" || name == "state" || name == "root" || name == "file" ||
        name == "features_hash") {  // SHA-256
      value =
          *rc::gen::container<std::string>(64, rc::gen::elementOf(std::string("0123456789abcdef")));
      return;
    }
    value = *rc::gen::container<std::string>(
        rc::gen::map(rc::gen::inRange(1, 128), [](int c) { return static_cast<char>(c); }));
    if (*rc::gen::arbitrary<bool>()) value += "\xc3\xa9\xe2\x82\xac";  // two characters of UTF-8
  }
  void field(std::string_view, std::vector<std::int64_t>& value, std::int64_t min, std::int64_t max,
             Effect, std::string_view) override {
    value.resize(*rc::gen::inRange<std::size_t>(0, 6));
    for (std::int64_t& element : value) element = integer(min, max);
  }
  void field(std::string_view, std::vector<double>& value, double min, double max, Effect,
             std::string_view) override {
    value.resize(*rc::gen::inRange<std::size_t>(0, 4));
    for (double& element : value) element = real(min, max);
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& words,
              Effect, std::string_view) override {
    value = *rc::gen::elementOf(words);
    if (name == "numerics") native_ = value == "native";
    if (name == "precision" && !native_) value = "float32";
    if (name == "products" && native_) value = "float";  // the two exclude each other
    if (name == "weights" && table_ != "discriminator") value = "trained";  // one at least is
  }
  void begin(std::string_view name, std::string_view) override { table_ = name; }
  void end() override {}

 private:
  std::string table_;
  bool native_ = false;

  static double real(double min, double max) {
    const std::uint64_t bits = *rc::gen::arbitrary<std::uint64_t>();
    double any = 0;
    std::memcpy(&any, &bits, sizeof any);
    if (!(any >= min && any <= max) || any == 0)
      any = min + (max - min) * (static_cast<double>(bits >> 11) * 0x1p-53);
    return any;
  }
  static std::int64_t integer(std::int64_t min, std::int64_t max) {
    const std::uint64_t width = static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(min);
    const std::uint64_t any = *rc::gen::arbitrary<std::uint64_t>();
    return min + static_cast<std::int64_t>(width + 1 ? any % (width + 1) : any);
  }
};

Recipe any_recipe() {
  Recipe recipe;
  Randomizer randomizer;
  describe(randomizer, recipe);
  // Refused elsewhere: what needs something that is not there.
  if (recipe.data.holdout == 0 || !objective::diffusion(recipe.objective))
    recipe.run.validate_every = 0;
  if (!objective::makes_samples(recipe.objective)) recipe.evaluation.every = 0;
  if (recipe.evaluation.features.ends_with(".pt")) recipe.evaluation.features.clear();
  for (NetworkOptions& network : recipe.networks)
    if (network.optimizer.ema_decay == 0) {
      network.optimizer.more_ema_decays.clear();
      network.optimizer.ema_warmup = false;
    }
  if (objective::steps_between(recipe.objective, {"generator", "generator"}) > 1)
    for (NetworkOptions& network : recipe.networks)
      if (is_frozen(network)) network.weights = "trained";
  return recipe;
}

// Runs that were made before the key was there keep their ids.
TEST(Canonical, NamesTheOptimisersOfAChildOnlyWhereTheyBeginAnew) {
  const std::string digest(64, 'a');
  const std::string from = "[run]\nseed = 1\nstart = \"run\"\n\n[run.from]\nrecipe = \"" + digest +
                           "\"\nstep = 40\nupdates = 40\nstate = \"" + digest + "\"\n";
  const std::string rest = "\n[batch]\nlanes = 8\n";
  EXPECT_TRUE(canonical_bits(parse(from, "a")).starts_with(from + rest));
  EXPECT_EQ(id(parse(from + "optimizer = \"continue\"\n", "a")), id(parse(from, "a")));
  const Recipe anew = parse(from + "optimizer = \"anew\"\n", "a");
  EXPECT_TRUE(canonical_bits(anew).starts_with(from + "optimizer = \"anew\"\n" + rest));
  EXPECT_NE(id(anew), id(parse(from, "a")));
  EXPECT_EQ(updates_before(anew), 0);
  EXPECT_EQ(updates_before(parse(from, "a")), 40);
  EXPECT_EQ(canonical(Recipe{}).find("run.from"), std::string::npos);
}

RC_GTEST_PROP(Canonical, ReadsBackAsTheSameRecipe, ()) {
  const Recipe recipe = any_recipe();
  const std::string text = canonical(recipe);
  const Recipe again = parse(text, "again");
  RC_ASSERT(canonical(again) == text);
  RC_ASSERT(id(again) == id(recipe));
}

RC_GTEST_PROP(Canonical, BitsReadBackAsTheSameId, ()) {
  const Recipe recipe = any_recipe();
  const Recipe again = parse_bits(canonical_bits(recipe), "again");
  RC_ASSERT(canonical_bits(again) == canonical_bits(recipe));
  RC_ASSERT(id(again) == id(recipe));
}

RC_GTEST_PROP(RunText, ReadsBackAsTheSameRecipe, ()) {
  const Recipe recipe = any_recipe();
  RC_ASSERT(canonical(parse_run_text(run_text(recipe), "recipe.toml")) == canonical(recipe));
}

RC_GTEST_PROP(RunText, NoticesEveryChangedByte, ()) {
  std::string text = run_text(any_recipe());
  const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(text[at] ^ *rc::gen::inRange(1, 256));
  try {
    parse_run_text(text, "recipe.toml");
    RC_FAIL("a changed byte was not noticed");
  } catch (const Error& error) {
    RC_ASSERT(error.code() == Code::kCorrupt);
    RC_ASSERT(std::string(error.what()).rfind("recipe.toml: ", 0) == 0u);
  }
}

RC_GTEST_PROP(RunText, NoticesTruncation, ()) {
  const std::string text = run_text(any_recipe());
  const std::size_t length = *rc::gen::inRange<std::size_t>(0, text.size());
  RC_ASSERT_THROWS_AS(parse_run_text(text.substr(0, length), "recipe.toml"), Error);
}

TEST(FirstDifference, NamesTheKeyAndBothValues) {
  const auto difference = [](const char* a, const char* b) {
    return first_difference(canonical_bits(parse(a, "a")), canonical_bits(parse(b, "b")));
  };
  EXPECT_EQ(difference("[run]\nseed = 9\n", "[run]\nseed = 1\n"), "run.seed is 9, there 1");
  EXPECT_EQ(difference("[model.optimizer]\nlr = 0.5\n", ""),
            "model.optimizer.lr is 0.5, there 0.001");
  EXPECT_EQ(first_difference("[a]\nx = 1\n", "[a]\nx = 1\ny = 2\n"), "a.y is absent, there 2");
}

TEST(Canonical, IsWrittenLikeThis) {
  const std::string text = canonical(parse("[model.optimizer]\nlr = 2e-4\n", "a"));
  EXPECT_EQ(text.rfind("[run]\nname = \"run\"\nseed = 1\nsteps = 1000\n\n"
                       "[batch]\nlanes = 8\nsamples_per_lane = 8\n\n[data]\n",
                       0),
            0u)
      << text;
  EXPECT_NE(text.find("\nlr = 2e-04\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\n[evidence]\ncommit_every = 100\n"), std::string::npos) << text;
}

TEST(Canonical, HasOnlyFieldsOfTheChosenKinds) {
  const std::string text = canonical(parse("", "a"));
  EXPECT_EQ(text.find("hidden"), std::string::npos);
  EXPECT_EQ(text.find("r1"), std::string::npos);
  EXPECT_EQ(text.find("mixture"), std::string::npos);
}

TEST(Canonical, DataWithoutClassesAreWrittenAsBefore) {
  const auto data_of = [](const std::string& recipe) {
    const std::string text = canonical(parse(recipe, "a"));
    const std::size_t from = text.find("[data]\n");
    return text.substr(from, text.find("[objective]") - from);
  };
  const std::string images = "[data]\nkind = \"images\"\npath = \"/x\"\n\n";
  EXPECT_EQ(data_of("[data]\npath = '/x'\n"), images);
  EXPECT_EQ(data_of("[data]\npath = '/x'\nclasses = 0\nlabels = ''\n"), images);
  EXPECT_EQ(data_of("[data]\nkind = 'mixture'\n"),
            "[data]\nkind = \"mixture\"\n\n[data.mixture]\nmodes = 8\nradius = 1.0\n"
            "stddev = 0.05\ncount = 1048576\nseed = 0\n\n");
  EXPECT_EQ(data_of("[data]\nkind = 'shapes'\n"),
            "[data]\nkind = \"shapes\"\n\n[data.shapes]\nside = 32\ncount = 65536\nseed = 0\n\n");
  EXPECT_EQ(data_of("[data]\npath = '/x'\nflip = false\ncrop = 0\n"), images);
  EXPECT_EQ(data_of("[data]\npath = '/x'\ncrop = 2\nflip = true\nclasses = 10\n"),
            "[data]\nkind = \"images\"\nclasses = 10\nflip = true\ncrop = 2\npath = \"/x\"\n\n");
  // With classes they come right after the kind.
  EXPECT_EQ(data_of("[data]\nlabels = '/y'\npath = '/x'\nclasses = 10\n"),
            "[data]\nkind = \"images\"\nclasses = 10\npath = \"/x\"\nlabels = \"/y\"\n\n");
  EXPECT_EQ(data_of("[data]\nkind = 'shapes'\nclasses = 3\n[data.shapes]\nside = 8\n"),
            "[data]\nkind = \"shapes\"\nclasses = 3\n\n[data.shapes]\nside = 8\ncount = 65536\n"
            "seed = 0\n\n");
}

TEST(Id, HasTheClassesAndNotWhereLabelsAre) {
  const auto bits_of = [](const std::string& data) {
    return canonical_bits(parse("[data]\n" + data, "a"));
  };
  const std::string plain = bits_of("");
  EXPECT_EQ(bits_of("classes = 0\nlabels = '/x'\n"), plain);
  const std::string ten = bits_of("classes = 10\n");
  EXPECT_NE(ten.find("\n[data]\nkind = \"images\"\nclasses = 10\n\n[objective]\n"),
            std::string::npos)
      << ten;
  EXPECT_EQ(bits_of("classes = 10\nlabels = '/x'\npath = '/y'\n"), ten);
  EXPECT_NE(bits_of("classes = 11\n"), ten);
  EXPECT_EQ(canonical_bits(parse_bits(ten, "checkpoint")), ten);
}

TEST(Id, DependsOnWhatChangesBitsOnly) {
  const auto id_of = [](const std::string& text) { return id(parse(text, "a")); };
  const hash::Digest plain = id_of("");
  EXPECT_EQ(plain, id_of("[run]\nsteps = 7\nname = 'other'\n[data]\npath = '/else'\n"
                         "[checkpoint]\nevery = 3\nkeep_last = 9\n[samples]\ncount = 1\n"));
  EXPECT_EQ(plain, id_of("[run]\nseed = 1\n"));  // a default that is written out
  EXPECT_NE(plain, id_of("[run]\nseed = 2\n"));
  EXPECT_NE(plain, id_of("[batch]\nlanes = 4\n"));
  EXPECT_NE(plain, id_of("[evidence]\ncommit_every = 7\n"));
  EXPECT_NE(plain, id_of("[model.optimizer]\nlr = 0.25\n"));
}

TEST(Id, NegativeZeroIsZero) {
  EXPECT_EQ(id(parse("[model.optimizer]\nweight_decay = -0.0\n", "a")), id(parse("", "a")));
}

TEST(RunText, RefusesOtherSemantics) {
  std::string text = run_text(parse("", "a"));
  const std::size_t body = text.find("# semantics ");
  std::string changed = text.substr(body);
  changed.replace(0, changed.find('\n'), "# semantics 999999");
  text = text.substr(0, text.find("# sha256 ")) + "# sha256 " +
         hash::sha256(as_bytes(changed)).hex() + "\n" + changed;
  try {
    parse_run_text(text, "recipe.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCannotCompare);
  }
}

TEST(ParseBits, RefusesWhatItDidNotWrite) {
  const std::string bits = canonical_bits(parse("", "a"));
  EXPECT_THROW(parse_bits(bits + "# comment\n", "checkpoint"), Error);
  EXPECT_THROW(parse_bits(bits.substr(1), "checkpoint"), Error);
  EXPECT_THROW(parse_bits("", "checkpoint"), Error);
}

}  // namespace
}  // namespace lockstep::recipe
