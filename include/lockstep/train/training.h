// Everything a step needs, built from a recipe: networks, optimisers, averages, and the state that
// names all their tensors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/lane/plan.h"
#include "lockstep/model/network.h"
#include "lockstep/objective/objective.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/state/state.h"

namespace lockstep::train {

using at::Tensor;

// A network and what trains it.
struct Trained {
  std::string role;
  std::shared_ptr<model::Network> network;
  std::vector<Tensor> parameters;   // in order
  std::vector<Tensor> updated;      // by this rank's optimiser: all of them, or its slices, flat
  std::vector<Division> divisions;  // of parameters among the ranks' optimisers; empty: all to each
  optim::Options options;           // with lr as optim::peak gives it
  std::unique_ptr<optim::Optimizer> optimizer;  // null: its weights are frozen
  std::shared_ptr<model::Network> average;      // moving average of the weights, or null
  std::vector<std::vector<Tensor>>
      averages;  // by optim::ema_decays; the first are those of `average`
  // What number the state gives the first of its parameters, slots and averages.
  struct Numbers {
    std::size_t parameters = 0, slots = 0, averages = 0;
  } numbers = {};
};

// Error(kUsage) if no network keeps so many averages, or none where `weights` asks for "average".
// Of "trained" weights there is no number. Both as a user gave them.
void require_average(const recipe::Recipe& recipe, const std::optional<std::int64_t>& number,
                     const std::optional<std::string>& weights);

// How the state names the averages of number k, counted from 0: "ema", "ema2", …
std::string average_kind(std::size_t k);
bool is_average(std::string_view kind);

// How many ranks train. Never affects bits.
struct Ranks {
  int world = 1;
  // --shard optimizer: the optimisers keep slots for the slices of this rank alone, and update
  // those (train/divided_state.h). Nothing: every rank keeps and updates all. The same for a world
  // of one.
  std::optional<Rank> keeps = {};
};

// How a rank's step fits its memory (train/memory.h). Never affects bits.
struct StepPlan {
  // How many lanes go through a pass at once: less memory, the same bits. 0: all of the rank's.
  std::int64_t lanes_at_once = 0;
  // What steps and what comes between them take beside the state, in bytes: what a device captures
  // leaves as much. 0: not planned.
  std::int64_t beside_state = 0;
};

class CapturedPhases;

// A thread with lanes of its own calls all of a pass's kernels for them. Below this many operations
// of floats a step, calls and small tensors take most of its time, and one pass for all lanes is
// sooner done (docs/benchmarks.md).
inline constexpr double kFlopsOfThread = 0.2e9;

struct Training {
  recipe::Recipe recipe;
  std::vector<std::int64_t> sample_shape;  // [H, W, C] or [D]
  lane::Plan plan;
  std::vector<Trained> trained;  // one a role, in the objective's order
  std::unique_ptr<objective::Objective> objective;
  std::unique_ptr<objective::Objective> pictures;  // bound to averages where they are kept
  StepPlan step_plan = {};
  // How many operations are worth a thread of their own. Never affects bits.
  double flops_of_thread = kFlopsOfThread;
  // Order: per role parameters, buffers, optimiser slots, average.
  state::State state;
  // What the state was after the last step, as all ranks agreed: the next step starts from nothing
  // else.
  std::optional<state::StateDigest> agreed;
  // What the device captured of its steps; null: nothing.
  std::shared_ptr<CapturedPhases> captured = {};
};

// Where networks come from: model/network.h's table, or a program's own ones.
using MakeNetwork = std::function<std::shared_ptr<model::Network>(
    const model::Options& options, const std::vector<std::int64_t>& sample_shape,
    std::int64_t classes)>;

// The state before any training (step 0). Under the guard (ops/guard.h). Error(kEnvironment) if the
// recipe's numerics are native and a setting contradicts (fingerprint/settings.h). Bits: recipe.
Training make_training(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                       const Ranks& ranks, const MakeNetwork& make_network = model::make_network);

// Of one lane in a step: all networks, forward and backward, about.
double flops_of_lane(const Training& training);

// Makes the training's samples as these options say, by the streams of this seed. Errors: as
// objective::make_objective.
void sample_by(Training& training, const objective::Options& options, std::int64_t seed);

// Makes them with the averages of this number, or with the trained weights, which take the place of
// the first averages in the state.
void sample_with(Training& training, std::int64_t average);
void sample_with_trained(Training& training);

// From averages where they are kept, with today's buffers. Under the guard. Bits: state, recipe,
// range.
Tensor draw_samples(
    Training& training, const objective::SampleRange& range,
    const objective::BeforePass& before = [](double) {});

// What makes the training's samples, with another key than run.seed. Lives as long as its networks.
std::unique_ptr<objective::Objective> sampler_of(const Training& training, std::int64_t seed);

// draw_samples by that one.
Tensor draw_samples(
    Training& training, const objective::Objective& sampler, const objective::SampleRange& range,
    const objective::BeforePass& before = [](double) {});

// The loss of each held-out sample, from averages as above. Under the caller's guard. Bits: state,
// recipe, batch; not the samples beside it.
Tensor held_out_losses(Training& training, const objective::Batch& batch);

}  // namespace lockstep::train
