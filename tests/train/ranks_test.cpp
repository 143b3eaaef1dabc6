// The golden recipes by every number of ranks: each step's digests are those of the golden ledger,
// which one rank wrote.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "lockstep/data/dataset.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"

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

  // How many lanes a rank computes at once.
  using AtOnce = std::function<std::int64_t(Rank)>;

  // Of each rank; 0: one or two, as it comes.
  void set_threads(int threads) { threads_ = threads; }

  // Every rank's record of every step is the ledger's line, with slots divided and not. A rank
  // alone keeps all of them either way: that is tried once, not for each number of threads.
  void expect_same(int world, std::size_t steps, const AtOnce& at_once = nullptr) const {
    expect_same(world, steps, at_once, false);
    if (world > 1 || (threads_ == 0 && !at_once)) expect_same(world, steps, at_once, true);
  }

 private:
  void expect_same(int world, std::size_t steps, const AtOnce& at_once, bool sharded) const {
    comm::run_local(world, [&](comm::Group& group) {
      // Ranks need not be alike.
      numerics::Cpu cpu(threads_ > 0 ? threads_ : 1 + static_cast<int>(group.rank().value % 2));
      const ops::DeviceScope here(cpu);
      Ranks ranks{.world = world};
      if (sharded) ranks.keeps = group.rank();
      Training training = make_training(recipe_, dataset_->sample_shape(), ranks);
      if (at_once) training.step_plan.lanes_at_once = at_once(group.rank());
      if (threads_ > 0) training.flops_of_thread = 0;  // however small the network
      Batches batches(*dataset_, recipe_, training.plan, group.rank());
      for (std::size_t i = 0; i < steps; ++i) {
        StepRecord record = step(training, group, std::ref(batches));
        if (sharded && world > 1 && group.rank() != Rank(0))  // only rank 0 has the whole
          record.entry.commit = ledger_.entries.at(i).commit;
        EXPECT_EQ(ledger::difference(ledger_.entries.at(i), record.entry), std::nullopt)
            << "step " << i + 1 << ", rank " << group.rank().value << " of " << world
            << (sharded ? ", sharded" : "")
            << ", lanes at once: " << training.step_plan.lanes_at_once
            << ", threads: " << cpu.threads();
      }
    });
  }

  recipe::Recipe recipe_;
  std::unique_ptr<data::Dataset> dataset_;
  ledger::Ledger ledger_;
  int threads_ = 0;
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

TEST(Ranks, AGanThatMixesNoSamplesTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("r1-gan");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

TEST(Ranks, AUNetTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("ddpm");
  for (const int world : {1, 2, 3, 5, 8}) golden.expect_same(world, 3);
}

TEST(Ranks, AConditionalUNetTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("class-ddpm");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

TEST(Ranks, AFlowTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("flow");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

TEST(Ranks, EdmTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("edm");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

TEST(Ranks, ADiffusionTransformerTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("dit");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

TEST(Ranks, AClassifierTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("classifier");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

TEST(Ranks, AWassersteinGanTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("wgan");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

TEST(Ranks, IntegerProductsGiveTheSameBitsByAnyNumberOfThem) {
  for (const char* const name : {"integer-ddpm", "integer-sngan"}) {
    const Golden golden(name);
    for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
  }
}

TEST(Ranks, AConditionalGanWithAProjectionTrainsToTheSameBitsByAnyNumberOfThem) {
  const Golden golden("class-gan");
  for (const int world : {1, 3, 5}) golden.expect_same(world, 3);
}

// Threads take lanes of their own where a network does not mix samples; all lanes at once, and in
// portions that some of the threads have lanes for.
void expect_same_by_threads(const std::string& name, std::size_t steps) {
  Golden golden(name);
  for (const int threads : {2, 3, 5, 7}) {
    golden.set_threads(threads);
    golden.expect_same(1, steps);
    golden.expect_same(1, steps, [](Rank) { return 3; });
  }
  golden.set_threads(2);
  golden.expect_same(3, steps);
}

TEST(Threads, TakeLanesOfGansToTheSameBits) {
  for (const char* const name : {"toy-gan", "dcgan", "sngan", "r1-gan", "wgan", "class-gan"})
    expect_same_by_threads(name, 2);
}
TEST(Threads, TakeLanesOfAClassifierToTheSameBits) {
  expect_same_by_threads("classifier", 2);
}
TEST(Threads, TakeLanesOfDiffusionToTheSameBits) {
  for (const char* const name : {"ddpm", "class-ddpm", "flow", "edm", "dit"})
    expect_same_by_threads(name, 2);
}

// 1, 3, and another number on each rank. In dcgan's phases all lanes go at once; in toy-gan's and
// sngan's the generator's, the discriminator in portions. In r1-gan's and ddpm's everything goes in
// portions.
void expect_same_in_portions(const std::string& name, std::size_t steps) {
  const Golden golden(name);
  for (const int world : {1, 3}) {
    for (const std::int64_t lanes : {1, 3})
      golden.expect_same(world, steps, [lanes](Rank) { return lanes; });
  }
  golden.expect_same(3, steps, [](Rank rank) { return rank.value; });
}

TEST(Portions, OfAGanWithBatchNormGiveTheSameBits) {
  expect_same_in_portions("toy-gan", 6);
}
TEST(Portions, OfAGanWithBatchNormInBothNetworksGiveTheSameBits) {
  expect_same_in_portions("dcgan", 2);
}
TEST(Portions, OfAGanWithSpectralNormGiveTheSameBits) {
  expect_same_in_portions("sngan", 2);
}
TEST(Portions, OfAGanThatMixesNoSamplesGiveTheSameBits) {
  expect_same_in_portions("r1-gan", 3);
}
TEST(Portions, OfAWassersteinGanGiveTheSameBits) {
  expect_same_in_portions("wgan", 3);
}
TEST(Portions, OfAFlowGiveTheSameBits) {
  expect_same_in_portions("flow", 2);
}
TEST(Portions, OfADiffusionTransformerGiveTheSameBits) {
  expect_same_in_portions("dit", 2);
}
TEST(Portions, OfAClassifierGiveTheSameBits) {
  expect_same_in_portions("classifier", 2);
}
TEST(Portions, OfEdmGiveTheSameBits) {
  expect_same_in_portions("edm", 2);
}
TEST(Portions, OfConditionalNetworksGiveTheSameBits) {
  for (const char* const name : {"class-ddpm", "class-gan"}) expect_same_in_portions(name, 2);
}
TEST(Portions, OfIntegerProductsGiveTheSameBits) {
  for (const char* const name : {"integer-ddpm", "integer-sngan"}) expect_same_in_portions(name, 2);
}
TEST(Portions, OfAUNetGiveTheSameBits) {
  expect_same_in_portions("ddpm", 2);
}

}  // namespace
}  // namespace lockstep::train
