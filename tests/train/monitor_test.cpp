// Monitors in whole runs: the same values and verdicts by every number of ranks, and never a bit
// of the run changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <sstream>

#include "lockstep/core/error.h"
#include "lockstep/core/json.h"
#include "lockstep/core/log.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "train/some_run.h"

namespace lockstep::train {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::read_bytes;
using testing::run_by;
using testing::small_gan;

struct Outcome {
  std::vector<std::string> said;      // by each rank that was stopped
  std::vector<std::string> measured;  // the monitors' values, a line a look
  std::string ledger;
  std::vector<std::string> checkpoints;
};

Outcome outcome(int world, const std::vector<std::string>& overrides) {
  log::set_quiet(true);
  const lockstep::testing::TemporaryFolder folder;
  const std::filesystem::path run_folder = folder.path() / "run";
  Outcome result;
  std::mutex mutex;
  comm::run_local(world, [&](comm::Group& group) {
    try {
      run({.recipe = small_gan(overrides), .folder = run_folder}, group);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDiverged) << error.what();
      const std::lock_guard lock(mutex);
      result.said.emplace_back(error.what());
    }
  });
  result.ledger = read_bytes(run_folder / "ledger.jsonl");
  std::istringstream metrics(read_bytes(run_folder / "metrics.jsonl"));
  for (std::string line; std::getline(metrics, line);) {
    const Json parsed = parse_json(line).value();
    if (const Json* monitor = parsed.find("monitor"))
      result.measured.push_back(json_text(*monitor));
  }
  for (const auto& file : std::filesystem::directory_iterator(run_folder / "checkpoints"))
    result.checkpoints.push_back(file.path().filename());
  std::sort(result.checkpoints.begin(), result.checkpoints.end());
  return result;
}

std::int64_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(Monitors, MeasureTheSameOnAnyNumberOfRanksAndChangeNoBit) {
  const Outcome unwatched = outcome(1, {});
  const std::vector<std::string> watching = {"monitor.every=2", "monitor.stop_distance=0.01",
                                             "monitor.loss_limit=100"};
  const Outcome one = outcome(1, watching);
  EXPECT_EQ(one.ledger, unwatched.ledger);
  EXPECT_TRUE(unwatched.measured.empty());
  EXPECT_EQ(one.measured.size(), 3U);  // a healthy run of six steps
  EXPECT_TRUE(one.said.empty());
  EXPECT_THAT(one.measured, Each(HasSubstr("sample_distance")));
  EXPECT_THAT(one.measured, Each(HasSubstr("discriminator_accuracy")));
  for (const int world : {2, 3}) {
    const Outcome many = outcome(world, watching);
    EXPECT_EQ(many.measured, one.measured) << world << " ranks";
    EXPECT_EQ(many.ledger, one.ledger);
  }
}

// Decay takes every weight of the generator to zero in each step: all its samples are one.
const std::vector<std::string> kCollapsing = {"monitor.every=2", "monitor.stop_distance=0.01",
                                              "generator.optimizer.weight_decay=1000",
                                              "generator.optimizer.ema_decay=0.0"};

TEST(Monitors, AGeneratorThatCollapsedStopsAllRanksAtTheSameStep) {
  for (const int world : {1, 2, 3}) {
    const Outcome stopped = outcome(world, kCollapsing);
    EXPECT_EQ(stopped.said.size(), static_cast<std::size_t>(world));
    EXPECT_THAT(stopped.said,
                Each(HasSubstr("step 2: collapse: the mean distance of samples is ")));
    EXPECT_THAT(stopped.said, Each(HasSubstr(", below stop_distance = 0.01 (")));
    EXPECT_EQ(lines_of(stopped.ledger), 1 + 2);
    EXPECT_TRUE(stopped.checkpoints.empty());
  }
}

TEST(Monitors, WhatCollapsedGoesOnWithAnotherLimit) {
  log::set_quiet(true);
  const lockstep::testing::TemporaryFolder folder;
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), kCollapsing.begin(), kCollapsing.end());
    return run_by(1, {.recipe = small_gan(more), .folder = folder.path() / "run"});
  };
  EXPECT_THROW(train({}), Error);
  EXPECT_THROW(train({}), Error);  // again at the same step: its line is compared
  EXPECT_EQ(train({"monitor.stop_distance=0.0"}).last, Step(6));
}

TEST(Monitors, ADivergingLossStopsAllRanksAndTheLastCheckpointStays) {
  for (const int world : {1, 3}) {
    const Outcome stopped = outcome(world, {"monitor.loss_limit=0.01", "monitor.loss_steps=5"});
    EXPECT_EQ(stopped.said.size(), static_cast<std::size_t>(world));
    EXPECT_THAT(stopped.said, Each(HasSubstr("step 5: divergence: the loss of the discriminator")));
    EXPECT_THAT(stopped.said, Each(HasSubstr("beyond loss_limit = 0.01 for 5 of 5 steps")));
    EXPECT_EQ(lines_of(stopped.ledger), 1 + 5);
    EXPECT_THAT(stopped.checkpoints,
                ::testing::ElementsAre("step-00000003.h5", "step-00000003.h5.sha256"));
  }
}

// Of forty steps of a GAN one stands out, by a limit as low as this.
TEST(Monitors, ASpikeStopsAllRanksAtTheSameStepAndItsLimitIsNamed) {
  std::vector<std::string> said;
  for (const int world : {1, 3}) {
    const Outcome stopped =
        outcome(world, {"run.steps=40", "monitor.spike_window=8", "monitor.stop_spike=3"});
    ASSERT_EQ(stopped.said.size(), static_cast<std::size_t>(world));
    EXPECT_THAT(stopped.said, Each(HasSubstr("beyond stop_spike = 3 for 1 of 1 step")));
    EXPECT_THAT(stopped.said, Each(HasSubstr("--set monitor.stop_spike=0")));
    said.push_back(stopped.said.front());
  }
  // The ranks' first words differ by the rank that speaks.
  EXPECT_EQ(said[0].substr(said[0].find("step ")), said[1].substr(said[1].find("step ")));
}

// Squares of the layers' gradients add up to those of the network, on any ranks, divided or not.
TEST(Monitors, SeeTheSameLayersOnAnyNumberOfRanks) {
  log::set_quiet(true);
  std::vector<std::string> seen;
  for (const auto& [world, shard] :
       {std::pair(1, Shard::kNone), {3, Shard::kNone}, {3, Shard::kOptimizer}}) {
    const lockstep::testing::TemporaryFolder folder;
    const std::filesystem::path run_folder = folder.path() / "run";
    run_by(world, {.recipe = small_gan(
                       {"monitor.layers_every=2", "generator.hidden=80"}),  // more than a tile
                   .folder = run_folder,
                   .shard = shard});
    std::istringstream metrics(read_bytes(run_folder / "metrics.jsonl"));
    std::string looks;
    std::int64_t step = 0;
    for (std::string line; std::getline(metrics, line);) {
      const Json parsed = parse_json(line).value();
      const Json* const layers = parsed.find("layers");
      EXPECT_EQ(layers != nullptr, ++step % 2 == 0);
      if (!layers) continue;
      looks += json_text(*layers);
      double squares = 0;
      for (const auto& [name, value] : layers->at("gradient_norm").members()) {
        EXPECT_GT(layers->at("norm").at(name).get<double>(), -1);
        if (name.starts_with("generator/param/"))
          squares += value.get<double>() * value.get<double>();
      }
      const double norm = parsed.at("gradient_norm").at("generator").get<double>();
      EXPECT_NEAR(squares / (norm * norm), 1, 1e-4);
    }
    EXPECT_EQ(step, 6);
    seen.push_back(looks);
  }
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_EQ(seen[2], seen[0]);
}

// Without batch norm lanes go in portions, and threads take portions of their own.
TEST(Monitors, SeeTheSameActivationsInAnyPortionsByAnyThreadsAndChangeNoBit) {
  log::set_quiet(true);
  struct Way {
    int world, threads;
    std::int64_t at_once;
    bool looks;
  };
  std::vector<std::string> seen, ledgers;
  for (const Way& way :
       {Way{1, 1, 0, true}, {1, 3, 0, true}, {2, 2, 2, true}, {1, 1, 1, true}, {1, 2, 0, false}}) {
    std::vector<std::string> overrides = {"run.steps=2", "generator.hidden=8", "samples.every=0",
                                          "batch.samples_per_lane=128"};  // worth two threads
    if (way.looks) overrides.emplace_back("monitor.layers_every=1");
    const lockstep::testing::TemporaryFolder folder;
    const RunOptions options = {
        .recipe = recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/wgan.toml", overrides),
        .folder = folder.path() / "run",
        .lanes_at_once = way.at_once};
    comm::run_local(way.world, [&](comm::Group& group) {
      numerics::Cpu cpu(way.threads);
      const ops::DeviceScope here(cpu);
      run(options, group);
    });
    ledgers.push_back(read_bytes(options.folder / "ledger.jsonl"));
    std::istringstream metrics(read_bytes(options.folder / "metrics.jsonl"));
    std::string looks;
    for (std::string line; std::getline(metrics, line);) {
      const Json parsed = parse_json(line).value();
      if (const Json* const layers = parsed.find("layers"))
        looks += json_text(layers->at("activation_rms"));
    }
    if (way.looks) seen.push_back(looks);
  }
  EXPECT_THAT(ledgers, Each(ledgers.front()));
  EXPECT_THAT(seen, Each(seen.front()));
  EXPECT_THAT(seen.front(), HasSubstr("\"discriminator/conv0/leaky_relu\":0."));
  EXPECT_THAT(seen.front(), HasSubstr("\"generator/hidden1/leaky_relu\":0."));
}

// One unit whose bias is below 0 and whose weights are taken to 0 in each step: a dead ReLU.
TEST(Monitors, WarnOfADeadReluByItsActivations) {
  log::set_quiet(true);
  const lockstep::testing::TemporaryFolder folder;
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/wgan.toml",
                   {"run.steps=4", "run.seed=1", "samples.every=0", "monitor.layers_every=1",
                    "generator.hidden=1", "generator.layers=1", "generator.optimizer.ema_decay=0.0",
                    "generator.optimizer.weight_decay=1000", "generator.optimizer.decay=matrices"});
  run_by(1, {.recipe = recipe, .folder = folder.path() / "run"});
  EXPECT_THAT(read_bytes(folder.path() / "run" / "log.txt"),
              HasSubstr("step 4: layers: generator/hidden0/leaky_relu: its activations are all 0 "
                        "in 3 checks in a row"));
}

}  // namespace
}  // namespace lockstep::train
