#include "lockstep/recipe/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "lockstep/core/error.h"
#include "lockstep/model/mlp_generator.h"
#include "lockstep/model/unet.h"
#include "lockstep/objective/ddpm.h"
#include "lockstep/recipe/canonical.h"
#include "recipe/error_of.h"

namespace lockstep::recipe {
namespace {

// A folder of recipes that is removed with its test.
class LoadFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("recipe-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "base");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string error_of_file(const std::string& path,
                            const std::vector<std::string>& overrides = {}) {
    try {
      load(path, overrides);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      std::string line = error.what();
      for (std::size_t at; (at = line.find(folder_.string() + "/")) != std::string::npos;)
        line.erase(at, folder_.string().size() + 1);
      return line;
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST(Load, AnEmptyRecipeIsAllDefaults) {
  const Recipe recipe = parse("", "a.toml");
  EXPECT_EQ(recipe.run.steps, recipe::Run{}.steps);
  ASSERT_EQ(recipe.networks.size(), 1u);
  EXPECT_EQ(recipe.networks[0].role, "model");
}

TEST(Load, TablesAreNamedAfterTheObjectivesRoles) {
  const Recipe recipe = parse(
      "[objective]\nkind = 'gan'\n[generator]\nkind = 'mlp-generator'\nlatent = 3\n"
      "[discriminator]\nkind = 'mlp-discriminator'\n[discriminator.optimizer]\nlr = 0.5\n",
      "a.toml");
  ASSERT_EQ(recipe.networks.size(), 2u);
  EXPECT_EQ(network(recipe, "generator").model.kind.as<model::MlpGeneratorOptions>().latent, 3);
  EXPECT_EQ(network(recipe, "discriminator").optimizer.lr, 0.5);
  EXPECT_THROW(network(recipe, "model"), Error);
}

TEST(Load, TakesIntegersForFloats) {
  EXPECT_EQ(parse("[model.optimizer]\nlr = 1\n", "a").networks[0].optimizer.lr, 1.0);
}

TEST(Load, ReportsSyntaxErrorsWithLineAndColumn) {
  const std::string duplicate = error_of("[run]\nseed = 1\nseed = 2\n");
  EXPECT_EQ(duplicate.rfind("a.toml:3:", 0), 0u) << duplicate;
  EXPECT_NE(duplicate.find("seed"), std::string::npos) << duplicate;
  const std::string open = error_of("[run\n");
  EXPECT_EQ(open.rfind("a.toml:1:", 0), 0u) << open;
  EXPECT_EQ(open.find('\n'), std::string::npos);
}

TEST(Load, SurvivesDeeplyNestedKeys) {
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  EXPECT_EQ(error_of(key + " = 1\n"), "a.toml:1: more than 256 dots in a line");
  for (const char* open : {"[", "{a=", "[{a="}) {
    std::string nested = "a = ";
    for (int i = 0; i < 100'000; ++i) nested += open;
    EXPECT_EQ(error_of(nested + "\n").rfind("a.toml:1:", 0), 0u) << open;
  }
}

TEST(Load, RefusesBytesThatAreNoTextWithLineAndColumn) {
  for (const char* bytes : {"\xff", "\xc3(", "\xc0\xaf", "\xed\xa0\x80", "\x01"}) {
    const std::string line = error_of("[run]\nname = \"x" + std::string(bytes) + "\"\n");
    EXPECT_EQ(line.rfind("a.toml:2:", 0), 0u) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_EQ(error_of(std::string("[run]\nname = \"\0\"\n", 16)).rfind("a.toml:2:", 0), 0u);
}

TEST(Load, RefusesALargeText) {
  EXPECT_EQ(error_of(std::string(100'000'000, '#')), "a.toml: larger than 1 MiB (is it a recipe?)");
  EXPECT_EQ(error_of("#" + std::string((1 << 20) - 1, 'x')), "no error");
}

TEST_F(LoadFiles, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(error_of_file((folder_ / "none.toml").string()),
            "cannot read the recipe none.toml: No such file or directory");
  EXPECT_EQ(error_of_file((folder_ / "base").string()), "the recipe base is not a file");
  EXPECT_EQ(error_of_file(write("large.toml", std::string(2 << 20, '#'))),
            "the recipe large.toml is larger than 1 MiB (is it a recipe?)");
}

TEST_F(LoadFiles, ExtendsTakesWhatIsNotGiven) {
  write("base/b.toml", "extends = '../c.toml'\n[run]\nseed = 2\nsteps = 20\n");
  write("c.toml", "[run]\nseed = 3\nsteps = 30\nname = 'c'\n[model]\nblocks = 5\n");
  const Recipe recipe = load(write("a.toml", "extends = 'base/b.toml'\n[run]\nseed = 1\n"));
  EXPECT_EQ(recipe.run.seed, 1);
  EXPECT_EQ(recipe.run.steps, 20);
  EXPECT_EQ(recipe.run.name, "c");
  EXPECT_EQ(recipe.networks[0].model.kind.as<model::UNetOptions>().blocks, 5);
}

TEST_F(LoadFiles, KeysOfAChoiceThatIsMadeOtherwiseAreNotInherited) {
  write("base.toml",
        "[objective]\ntimesteps = 10\n[model]\nblocks = 5\n[model.optimizer]\nschedule = 'cosine'\n"
        "horizon = 9\nbeta1 = 0.5\nlr = 0.25\n");
  const std::string sgd = write("sgd.toml",
                                "extends = 'base.toml'\n[model.optimizer]\nkind = 'sgd'\n"
                                "schedule = 'constant'\n");
  const Recipe recipe = load(sgd);
  EXPECT_EQ(recipe.networks[0].optimizer.kind, "sgd");
  EXPECT_EQ(recipe.networks[0].optimizer.lr, 0.25);
  EXPECT_EQ(recipe.networks[0].model.kind.as<model::UNetOptions>().blocks, 5);
  EXPECT_EQ(recipe.objective.kind.as<objective::DdpmOptions>().timesteps, 10);
  const std::string gan =
      "extends = 'sgd.toml'\n[objective]\nkind = 'gan'\n[generator]\nkind = 'mlp-generator'\n"
      "[discriminator]\nkind = 'mlp-discriminator'\n";
  EXPECT_EQ(load(write("gan.toml", gan)).networks.size(), 2U);  // [model] is gone
  EXPECT_EQ(load(sgd, {"objective.kind=gan", "generator.kind=mlp-generator",
                       "discriminator.kind=mlp-discriminator"})
                .networks.size(),
            2U);
}

TEST_F(LoadFiles, AGanMustSayItsNetworks) {
  const std::string gan = write("gan.toml", "[objective]\nkind = 'gan'\n");
  EXPECT_EQ(error_of_file(gan),
            "gan.toml: with kind = 'gan' in [objective], [generator] and [discriminator] must say "
            "a kind (such as [generator] with kind = \"dcgan-generator\", [discriminator] with "
            "kind = \"dcgan-discriminator\"; recipes/fashion-mnist-dcgan.toml is a whole one)");
  EXPECT_EQ(error_of_file(gan, {"data.kind=mixture", "generator.kind=mlp-generator"}),
            "gan.toml: with kind = 'gan' in [objective], [discriminator] must say a kind (such as "
            "[discriminator] with kind = \"mlp-discriminator\"; recipes/golden/toy-gan.toml is a "
            "whole one)");
}

TEST(Load, NamesTheLanguageThatAFileIsInsteadOfToml) {
  const auto hint = [](const std::string& text) {
    const std::string line = error_of(text);
    const std::size_t at = line.find("this looks like ");
    return at == std::string::npos ? "" : line.substr(at + 16, line.find(';', at) - at - 16);
  };
  EXPECT_EQ(hint("{\"run\": {\"steps\": 3}}\n"), "JSON");
  EXPECT_EQ(hint("\n  {\n  \"run\": 1\n}\n"), "JSON");
  EXPECT_EQ(hint("# mine\nrun:\n  steps: 3\n"), "YAML");
  EXPECT_EQ(hint("---\nrun: {steps: 3}\n"), "YAML");
  EXPECT_EQ(hint("[run]\nsteps: 3\n"), "");  // TOML with a slip
  EXPECT_EQ(hint("run.steps = \n"), "");
  EXPECT_EQ(hint("x = 'a:\n"), "");
}

TEST_F(LoadFiles, WhatNoChoiceKnowsStaysAnError) {
  write("base.toml", "[model.optimizer]\nbetta1 = 0.5\n");
  EXPECT_EQ(
      error_of_file(write("a.toml", "extends = 'base.toml'\n[model.optimizer]\nkind = 'sgd'\n")),
      "base.toml:2: unknown key 'betta1' in [model.optimizer] (with kind = 'sgd' the keys are "
      "kind, "
      "lr, lr_scaling, weight_decay, decay, momentum, nesterov, clip_value, clip_norm, schedule, "
      "warmup, ema_decay, more_ema_decays, ema_warmup)");
  write("ddpm.toml", "[objective]\nkind = 'ddpm'\nr1 = 0.5\n");
  EXPECT_EQ(error_of_file(write("b.toml", "extends = 'ddpm.toml'\n[model]\nkind = 'unet'\n")),
            "ddpm.toml:3: unknown key 'r1' in [objective] (with kind = 'ddpm' the keys are kind, "
            "prediction, schedule, timesteps, weighting, sampler, sampler_steps, label_dropout, "
            "guidance)");
  write("fine.toml", "[model.optimizer]\nbeta1 = 0.5\n");
  EXPECT_EQ(
      error_of_file(
          write("c.toml", "extends = 'fine.toml'\n[model.optimizer]\nkind = 'sgd'\nbeta1 = 0.5\n")),
      "c.toml:4: unknown key 'beta1' in [model.optimizer] (with kind = 'sgd' the keys are kind, "
      "lr, lr_scaling, weight_decay, decay, momentum, nesterov, clip_value, clip_norm, schedule, "
      "warmup, ema_decay, more_ema_decays, ema_warmup)");
  EXPECT_EQ(error_of_file((folder_ / "fine.toml").string(),
                          {"model.optimizer.beta2=0.5", "model.optimizer.kind=sgd"})
                .rfind("--set model.optimizer.beta2: unknown key 'beta2'", 0),
            0U);
}

TEST_F(LoadFiles, PathsStartAtTheFileThatTheyStandIn) {
  const std::string real = std::filesystem::canonical(folder_).string();
  const auto path = [](const std::string& file, const std::vector<std::string>& overrides = {}) {
    return data::files(load(file, overrides).data).at(0);
  };
  write("base/b.toml", "[data]\npath = 'images'\n");
  const std::string a = write("a.toml", "extends = 'base/b.toml'\n");
  EXPECT_EQ(path(a), real + "/base/images");
  EXPECT_EQ(path(write("up.toml", "[data]\npath = './base/../x/y.gz'\n")), real + "/x/y.gz");
  EXPECT_EQ(path(write("whole.toml", "[data]\npath = '/some/where'\n")), "/some/where");
  const std::string here = std::filesystem::canonical(".").string();
  EXPECT_EQ(path(a, {"data.path=some/where"}), here + "/some/where");
  EXPECT_EQ(path(a, {"data.path=/some/where"}), "/some/where");
  // A recipe of the current folder, and one that is named by a link.
  std::filesystem::create_symlink(folder_ / "base" / "b.toml", folder_ / "link.toml");
  EXPECT_EQ(path((folder_ / "link.toml").string()), real + "/images");
  EXPECT_EQ(data::files(parse("[data]\npath = 'x'\n", "memory").data).at(0), "x");
}

TEST_F(LoadFiles, LabelsStartWhereImagesDo) {
  const std::string real = std::filesystem::canonical(folder_).string();
  write("base/b.toml", "[data]\nclasses = 10\nlabels = 'labels'\n");
  const std::string a = write("a.toml", "extends = 'base/b.toml'\n[data]\npath = 'images'\n");
  EXPECT_EQ(data::files(load(a).data),
            (std::vector<std::string>{real + "/images", real + "/base/labels"}));
  const std::string here = std::filesystem::canonical(".").string();
  EXPECT_EQ(data::files(load(a, {"data.labels=l"}).data).back(), here + "/l");
}

TEST(Load, NamesTheKeysOfEachKindOfData) {
  EXPECT_EQ(error_of("[data]\nclases = 3\n"),
            "a.toml:2: unknown key 'clases' in [data] (did you mean 'classes'?)");
  EXPECT_EQ(error_of("[data]\nlabel = 'x'\n"),
            "a.toml:2: unknown key 'label' in [data] (did you mean 'labels'?)");
  EXPECT_EQ(error_of("[data]\nkind = 'mixture'\nlabels = 'x'\n"),
            "a.toml:3: unknown key 'labels' in [data] (with kind = 'mixture' the keys are kind, "
            "classes, flip, crop, holdout, mixture)");
  EXPECT_EQ(error_of("[data]\nclasses = 65537\n"),
            "a.toml:2: 'classes' in [data] is out of range: 65537 (it may be 0 to 65536)");
}

TEST_F(LoadFiles, TheRecipeIdHasNoPathInIt) {
  const std::string text = "[data]\npath = 'images'\n";
  EXPECT_EQ(id(load(write("a.toml", text))), id(load(write("base/a.toml", text))));
}

TEST_F(LoadFiles, ErrorsNameTheFileThatAValueCameFrom) {
  write("base/b.toml", "# a comment\n[run]\nseeed = 2\n");
  EXPECT_EQ(error_of_file(write("a.toml", "extends = 'base/b.toml'\n[run]\nseed = 1\n")),
            "base/b.toml:3: unknown key 'seeed' in [run] (did you mean 'seed'?)");
}

TEST_F(LoadFiles, ExtendsRefusesCircles) {
  write("b.toml", "\nextends = 'a.toml'\n");
  const std::string line = error_of_file(write("a.toml", "extends = 'b.toml'\n"));
  EXPECT_EQ(line.rfind("b.toml:2: 'extends' goes in a circle (", 0), 0u) << line;
  EXPECT_EQ(error_of_file(write("d.toml", "extends = 'none.toml'\n")),
            "d.toml:1: cannot read 'none.toml', which is extended: No such file or directory");
  EXPECT_EQ(error_of_file(write("e.toml", "extends = 3\n")),
            "e.toml:1: 'extends' must be a string: another recipe's path");
}

TEST_F(LoadFiles, TheLastOverrideWins) {
  const std::string path = write("a.toml", "[run]\nseed = 1\n");
  const Recipe recipe =
      load(path, {"run.seed=2", "run.seed=3", "data.path=/some/where", "model.channels=[8, 16]",
                  "model.optimizer.lr=1e-3", "run.name=word"});
  EXPECT_EQ(recipe.run.seed, 3);
  EXPECT_EQ(data::files(recipe.data).at(0), "/some/where");
  EXPECT_EQ(recipe.networks[0].model.kind.as<model::UNetOptions>().channels,
            (std::vector<std::int64_t>{8, 16}));
  EXPECT_EQ(recipe.networks[0].optimizer.lr, 1e-3);
  EXPECT_EQ(recipe.run.name, "word");
}

TEST_F(LoadFiles, OverridesMayHaveSpacesAroundTheirSign) {
  const std::string path = write("a.toml", "[run]\nseed = 1\n");
  const Recipe recipe = load(path, {"run.seed = 7", " run.name = word "});
  EXPECT_EQ(recipe.run.seed, 7);
  EXPECT_EQ(recipe.run.name, "word");
}

TEST_F(LoadFiles, OverrideErrorsSayWhichOne) {
  const std::string path = write("a.toml", "[run]\nseed = 1\n");
  EXPECT_EQ(error_of_file(path, {"run.sed=2"}),
            "--set run.sed: unknown key 'sed' in [run] (did you mean 'seed'?)");
  EXPECT_EQ(error_of_file(path, {"run.seed=two"}),
            "--set run.seed: 'seed' in [run] must be an integer, not a string");
  EXPECT_EQ(error_of_file(path, {"run.seed"}),
            "--set 'run.seed': expected key=value (for example --set run.seed=2)");
  EXPECT_EQ(error_of_file(path, {"run..seed=1"}),
            "--set 'run..seed=1': expected key=value (for example --set run.seed=2)");
  EXPECT_EQ(error_of_file(path, {"run=1"}), "--set run: 'run' must be a table, not an integer");
  for (const std::string beyond : {"18446744073709551615", "-9223372036854775809"})
    EXPECT_EQ(error_of_file(path, {"run.seed=" + beyond}),
              "--set run.seed: 'seed' in [run] is out of range: " + beyond +
                  " (it may be 0 to 9223372036854775807)");
  for (const std::string empty : {"run={}", "model.optimizer={ }"})
    EXPECT_EQ(error_of_file(path, {empty}),
              "--set " + empty.substr(0, empty.find('=')) +
                  ": an empty table changes nothing: keys that it does not name stay (set them "
                  "one by one, such as --set run.seed=2)");
  const std::string broken = error_of_file(path, {"model.channels=[1,"});
  EXPECT_EQ(broken.rfind("--set model.channels: '[1,' is not a TOML value: ", 0), 0u) << broken;
  const std::string smuggled = error_of_file(path, {"run.seed=1\nrun.steps=2"});
  EXPECT_EQ(smuggled, "--set run.seed: 'seed' in [run] must be an integer, not a string");
}

}  // namespace
}  // namespace lockstep::recipe
