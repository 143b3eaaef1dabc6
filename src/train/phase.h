// Forward and backward of one phase over this rank's lanes: at once or in portions, which the
// threads of its device take side by side.
#pragma once

#include "lockstep/lane/backward.h"
#include "lockstep/train/training.h"
#include "train/activations.h"

namespace lockstep::train {

// A phase of a training's objective.
struct PhaseAt {
  objective::PhaseNames names;
  const objective::Phase& phase;
};
// Those of this step, in order.
std::vector<PhaseAt> phases_of(const Training& training, Step step);

struct PhaseResult {
  lane::PhaseGradients sums;
  std::vector<objective::Loss> losses;  // of each portion that counts something
};

// `all`: a fresh context over all of the rank's lanes. What a network that mixes samples gives, it
// gives for all lanes at once; everything else goes side by side, as training.step_plan says.
// `seed`: lane::Backward's; `trained`: whose parameters' gradients. An error is that of the first
// lanes that fail. Collective: yes. Bits: training.state and batch; not of portions or threads.
// `activations`: what measures the forward passes, or null.
PhaseResult compute_phase(const Training& training, lane::Context& all, const PhaseAt& phase,
                          const objective::Batch& batch, float seed, const Trained& trained,
                          Activations* activations = nullptr);

}  // namespace lockstep::train
