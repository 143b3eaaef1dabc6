// The golden recipes by every number of ranks: each step's digests are those of the golden ledger,
// which one rank wrote.
#include <gtest/gtest.h>

#include <string>

#include "lockstep/comm/local.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/numerics/parallel.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/step.h"
#include "train/batches.h"

namespace lockstep::train {
namespace {

const std::string kSource = LOCKSTEP_SOURCE_DIR;

class Golden {
 public:
  explicit Golden(const std::string& name)
      : recipe_(recipe::load(kSource + "/recipes/golden/" + name + ".toml")),
        dataset_(data::open(recipe_.data)),
        ledger_(
            ledger::read(real_file_system(), kSource + "/tests/golden/" + name + ".ledger.jsonl")) {
    EXPECT_EQ(ledger_.header.recipe.hex(), recipe::id(recipe_).hex());
    EXPECT_EQ(ledger_.header.data.hex(), dataset_->hash().hex());
  }

  // Every rank's record of every step is the ledger's line.
  void expect_same(int world, std::size_t steps) const {
    for (const bool sharded : {false, true}) expect_same(world, steps, sharded);
  }

 private:
  void expect_same(int world, std::size_t steps, bool sharded) const {
    comm::run_local(world, [&](comm::Group& group) {
      numerics::set_threads(1 + group.rank().value % 2);  // ranks need not be alike
      Ranks ranks{.world = world};
      if (sharded) ranks.keeps = group.rank();
      Training training = make_training(recipe_, dataset_->sample_shape(), ranks);
      Batches batches(*dataset_, recipe_, training.plan, group.rank());
      for (std::size_t i = 0; i < steps; ++i) {
        StepRecord record = step(training, group, std::ref(batches));
        if (training.sharded && group.rank() != Rank(0))  // only rank 0 has the whole
          record.entry.commit = ledger_.entries.at(i).commit;
        EXPECT_EQ(ledger::difference(ledger_.entries.at(i), record.entry), std::nullopt)
            << "step " << i + 1 << ", rank " << group.rank().value << " of " << world
            << (sharded ? ", sharded" : "");
      }
    });
  }

  recipe::Recipe recipe_;
  std::unique_ptr<data::Dataset> dataset_;
  ledger::Ledger ledger_;
};

TEST(Ranks, AGanWithBatchNormTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("toy-gan");
  for (int world = 1; world <= 6; ++world) golden.expect_same(world, 10);
}

TEST(Ranks, AConvolutionalGanWithBatchNormInBothNetworksTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("dcgan");
  for (const int world : {1, 2, 3, 5, 8}) golden.expect_same(world, 3);
}

TEST(Ranks, AConvolutionalGanWithSpectralNormTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("sngan");
  for (const int world : {1, 2, 3, 5, 8}) golden.expect_same(world, 3);
}

TEST(Ranks, AUNetTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("ddpm");
  for (const int world : {1, 2, 3, 5, 8}) golden.expect_same(world, 3);
}

}  // namespace
}  // namespace lockstep::train
