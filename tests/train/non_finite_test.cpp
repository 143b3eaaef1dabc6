// A value that is not finite stops the run on every rank alike, before anything is written.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ops/record.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"
#include "train/agree.h"

namespace lockstep::train {
namespace {

const std::string kRecipe = std::string(LOCKSTEP_SOURCE_DIR) + "/recipes/golden/toy-gan.toml";

// What each rank says when one sample of one rank's third batch is poisoned.
std::vector<std::string> said_by(int world, int poisoned, float poison) {
  const recipe::Recipe recipe = recipe::load(
      kRecipe, {"generator.hidden=8", "discriminator.hidden=8", "evidence.witness_rate=0"});
  const auto dataset = data::open(recipe.data);
  std::vector<std::string> said(static_cast<std::size_t>(world));
  comm::run_local(world, [&](comm::Group& group) {
    Training training = make_training(recipe, dataset->sample_shape(), {.world = world});
    Batches batches(*dataset, recipe, training.plan, group.rank());
    for (int n = 1; n <= 3; ++n) {
      const auto feed = [&](Draw first, std::int64_t count) {
        objective::Batch batch = batches(first, count);
        if (n == 3 && group.rank().value == poisoned) ops::write(batch.values)[1] = poison;
        return batch;
      };
      try {
        step(training, group, feed);
        EXPECT_LT(n, 3) << "rank " << group.rank().value << " went on";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDiverged) << error.what();
        EXPECT_EQ(n, 3);
        said[static_cast<std::size_t>(group.rank().value)] = error.what();
      }
    }
  });
  return said;
}

TEST(NonFinite, OneSampleStopsAllRanksAtTheSameStepForTheSameReason) {
  const std::string alone = said_by(1, 0, std::numeric_limits<float>::quiet_NaN())[0];
  EXPECT_NE(alone.find("step 3: training diverged: non-finite value in generator/param/"),
            std::string::npos)
      << alone;
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (int world = 2; world <= 3; ++world) {
      for (int poisoned = 0; poisoned < world; ++poisoned) {
        for (const std::string& line : said_by(world, poisoned, poison)) EXPECT_EQ(line, alone);
      }
    }
  }
}

// Infinity in the state of one rank alone is that rank's fault, not the training's.
TEST(NonFinite, OneRanksInfinityNamesTheRank) {
  std::vector<std::string> said(3);
  comm::run_local(3, [&](comm::Group& group) {
    at::Tensor x = ops::empty({5});
    for (int i = 0; i < 5; ++i) ops::write(x)[i] = static_cast<float>(i);
    if (group.rank().value == 1) ops::write(x)[3] = std::numeric_limits<float>::infinity();
    const state::State state{.tensors = {{"model/param/x", x}}, .step = Step(7), .samples = 7};
    try {
      agree(group, state, state::digest(state));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDiffer) << error.what();
      said[static_cast<std::size_t>(group.rank().value)] = error.what();
    }
  });
  EXPECT_NE(said[0].find("rank 1 holds another state than rank 0: model/param/x"),
            std::string::npos)
      << said[0];
  EXPECT_EQ(said[1], said[0]);
  EXPECT_EQ(said[2], said[0]);
}

}  // namespace
}  // namespace lockstep::train
