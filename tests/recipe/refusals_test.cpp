// Keys and values that are refused, each with one line that says where and what to do.
#include "recipe/error_of.h"

namespace lockstep::recipe {
namespace {

TEST(Load, NamesTheNearestKeyForAnUnknownOne) {
  EXPECT_EQ(error_of("[model]\n\n[model.optimizer]\nlrr = 1.0\n"),
            "a.toml:4: unknown key 'lrr' in [model.optimizer] (did you mean 'lr'?)");
  EXPECT_EQ(error_of("[runs]\nseed = 1\n"),
            "a.toml:1: unknown key 'runs' at the top level (did you mean 'run'?)");
  EXPECT_EQ(error_of("[run]\nzzzzzzzzzz = 1\n"),
            "a.toml:2: unknown key 'zzzzzzzzzz' in [run] (the keys are name, seed, steps, "
            "validate_every, numerics, precision, products, start, from)");
}

TEST(Load, NamesTheChoiceThatHasAKey) {
  EXPECT_EQ(error_of("[model.optimizer]\nhorizon = 5\n"),
            "a.toml:2: unknown key 'horizon' in [model.optimizer] (it is a key with schedule = "
            "\"cosine\" or \"linear\")");
  EXPECT_EQ(error_of("[model.optimizer]\nbase_batch = 5\n"),
            "a.toml:2: unknown key 'base_batch' in [model.optimizer] (it is a key with lr_scaling "
            "= \"linear\" or \"sqrt\")");
}

TEST(Load, RefusesToValidateWithoutHeldOutSamplesOrTheirLoss) {
  EXPECT_EQ(
      error_of("[run]\nvalidate_every = 5\n"),
      "a.toml:2: validate_every in [run] has no samples: none are held out (set data.holdout, "
      "such as 1000, or leave validate_every out)");
  EXPECT_EQ(error_of("[run]\nvalidate_every = 5\n[data]\nholdout = 8\n[objective]\nkind = 'gan'"),
            "a.toml:2: validate_every in [run] is of diffusion models: kind in [objective] is gan "
            "(leave it out: others have no such loss)");
}

TEST(Load, RefusesTurnsOfANetworkThatIsFrozen) {
  for (const bool generator : {false, true})
    EXPECT_EQ(error_of(std::string("[objective]\nkind = 'gan'\ndiscriminator_steps = 5\n"
                                   "[generator]\nkind = 'mlp-generator'\n") +
                       (generator ? "weights = 'frozen'\n" : "") +
                       "[discriminator]\nkind = 'mlp-discriminator'\n" +
                       (generator ? "" : "weights = 'frozen'\n")),
              "a.toml:3: discriminator_steps in [objective] is of two networks that are trained, "
              "and one is frozen (leave discriminator_steps out)");
}

TEST(Load, RefusesIntegerProductsInNativeNumerics) {
  EXPECT_EQ(error_of("[run]\nnumerics = 'native'\nproducts = 'integer'\n"),
            "a.toml:3: products = \"integer\" in [run] is not for native numerics (leave "
            "one of the two out)");
}

TEST(Load, RefusesAPrecisionOfPortableNumerics) {
  for (const std::string precision : {"tf32", "bfloat16"})
    EXPECT_EQ(error_of("[run]\nprecision = '" + precision + "'\n"),
              "a.toml:2: precision = \"" + precision +
                  "\" in [run] is for native numerics (set numerics = \"native\", or leave "
                  "precision out)");
}

TEST(Load, SaysWhereAKeyOfAnotherTableBelongs) {
  EXPECT_EQ(error_of("[run]\nholdout = 50\n"),
            "a.toml:2: unknown key 'holdout' in [run] (holdout in [data])");
  EXPECT_EQ(
      error_of("[objective]\nkind = 'gan'\nguidance = 2.0\n"),
      "a.toml:3: unknown key 'guidance' in [objective] (guidance in [objective], of diffusion "
      "models)");
}

TEST(Load, SaysThatWordsStandInQuotes) {
  const std::string error = error_of("[objective]\nkind = flow\n");
  EXPECT_TRUE(error.starts_with("a.toml:2:")) << error;
  EXPECT_TRUE(error.ends_with("(words stand in quotes: \"flow\")")) << error;
}

TEST(Load, ReportsTheFirstUnknownKeyOfATable) {
  EXPECT_EQ(error_of("[run]\nstepz = 1\naseed = 1\n"),
            "a.toml:2: unknown key 'stepz' in [run] (did you mean 'steps'?)");
}

TEST(Load, RefusesKeysOfOtherKinds) {
  EXPECT_EQ(error_of("[model]\nkind = 'mlp-discriminator'\nattention_levels = [1]\n"),
            "a.toml:3: unknown key 'attention_levels' in [model] (with kind = 'mlp-discriminator' "
            "the keys are kind, hidden, layers, norm, weights, optimizer)");
}

TEST(Load, RefusesIllTypedValues) {
  EXPECT_EQ(error_of("[run]\nseed = '1'\n"),
            "a.toml:2: 'seed' in [run] must be an integer, not a string");
  EXPECT_EQ(error_of("[run]\nseed = 1.0\n"),
            "a.toml:2: 'seed' in [run] must be an integer, not a float (without point and "
            "exponent: 10000 or 10_000)");
  EXPECT_EQ(error_of("[run]\nname = 7\n"),
            "a.toml:2: 'name' in [run] must be a string, not an integer");
  EXPECT_EQ(error_of("[model.optimizer]\nlr = true\n"),
            "a.toml:2: 'lr' in [model.optimizer] must be a number, not a boolean");
  EXPECT_EQ(error_of("[model]\nchannels = 3\n"),
            "a.toml:2: 'channels' in [model] must be an array of integers, not an integer");
  EXPECT_EQ(error_of("[model]\nchannels = [1, 'x']\n"),
            "a.toml:2: 'channels' in [model] must hold integers only, not a string");
  EXPECT_EQ(error_of("[model]\noptimizer = 'adamw'\n"),
            "a.toml:2: 'model.optimizer' must be a table, not a string");
  EXPECT_EQ(error_of("[run]\nseed = 1979-05-27\n"),
            "a.toml:2: 'seed' in [run] must be an integer, not a date or time");
}

TEST(Load, RefusesValuesOutOfRange) {
  EXPECT_EQ(error_of("[batch]\nlanes = 0\n"),
            "a.toml:2: 'lanes' in [batch] is out of range: 0 (it may be 1 to 4096)");
  EXPECT_EQ(error_of("[batch]\nlanes = 4097\n"),
            "a.toml:2: 'lanes' in [batch] is out of range: 4097 (it may be 1 to 4096)");
  EXPECT_EQ(error_of("[model.optimizer]\nlr = nan\n"),
            "a.toml:2: 'lr' in [model.optimizer] is not a finite number");
  EXPECT_EQ(error_of("[model.optimizer]\nlr = -inf\n"),
            "a.toml:2: 'lr' in [model.optimizer] is not a finite number");
  EXPECT_EQ(error_of("[run]\nname = '../elsewhere'\n"),
            "a.toml:2: 'name' in [run] cannot name a folder: '../elsewhere' (use letters, digits, "
            "'.', '_' and '-', and begin with a letter or digit)");
}

TEST(Load, AsksForValuesThatHaveNoDefault) {
  EXPECT_EQ(
      error_of("[model.optimizer]\nschedule = 'cosine'\n"),
      "a.toml: 'horizon' in [model.optimizer] must be given (schedule = \"cosine\" needs it)");
}

TEST(Load, RefusesUnknownWordsOfAChoice) {
  EXPECT_EQ(error_of("[objective]\nkind = 'gann'\n"),
            "a.toml:2: 'kind' in [objective] cannot be 'gann' (did you mean 'gan'? it may be "
            "ddpm, flow, edm, gan, hinge-gan, wasserstein-gan, classifier)");
  EXPECT_EQ(error_of("[objective]\nkind = 'xyzzy'\n"),
            "a.toml:2: 'kind' in [objective] cannot be 'xyzzy' (it may be ddpm, flow, edm, gan, "
            "hinge-gan, wasserstein-gan, classifier)");
}

TEST(Load, SaysWhyARateDoesNotFollowTheRanks) {
  const std::string why =
      "no bit may depend on the number of ranks (lr_scaling = \"linear\" or "
      "\"sqrt\" with base_batch follows the recipe's batch, lanes x "
      "samples_per_lane)";
  EXPECT_EQ(error_of("[model.optimizer]\nlr_scaling = 'world'\n"),
            "a.toml:2: 'lr_scaling' in [model.optimizer] cannot be 'world': " + why);
  EXPECT_EQ(error_of("[model.optimizer]\nlr = 1.0\nscale_lr_by_world_size = true\n"),
            "a.toml:3: unknown key 'scale_lr_by_world_size' in [model.optimizer]: " + why);
  EXPECT_EQ(
      error_of("[model.optimizer]\nlr_scaling = 'cubic'\n"),
      "a.toml:2: 'lr_scaling' in [model.optimizer] cannot be 'cubic' (it may be none, linear, "
      "sqrt)");
  EXPECT_EQ(
      error_of("[model.optimizer]\nlr_scaling = 'linear'\n"),
      "a.toml: 'base_batch' in [model.optimizer] must be given (lr_scaling = \"linear\" needs "
      "it)");
}

}  // namespace
}  // namespace lockstep::recipe
