// What a step needs in memory, before anything is computed; and how many lanes at once fit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/memory.h"
#include "lockstep/ops/memory.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Bytes of tensors on one rank, on a GPU with its kernels' scratch memory. The program itself (some
// 200 MiB) and its threads' scratch memory are not among them.
struct StepMemory {
  std::int64_t state = 0;     // parameters, buffers, optimiser slots, averages
  std::int64_t copy = 0;      // of the state, while a checkpoint is written beside the next step
  std::int64_t passes = 0;    // activations, gradients and pending partials of the largest phase
  std::int64_t pictures = 0;  // of samples.count samples; never beside the passes
  std::int64_t ahead = 0;     // samples of the next step

  std::int64_t total() const { return state + ahead + std::max(copy + passes, pictures); }
};

std::string to_text(const StepMemory& memory);  // "67 MiB (state 11 MiB, passes 46 MiB)"

// A walk through steps of the rank that has most lanes, without computing them (ops/memory.h): it
// takes as long as a step has ops, and hardly any memory. What travels between ranks is not
// counted. One a process at a time, while no other thread computes.
class StepWalk {
 public:
  // Errors: as make_training.
  StepWalk(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
           const Ranks& ranks);
  StepWalk(const StepWalk&) = delete;
  StepWalk& operator=(const StepWalk&) = delete;

  // When `lanes_at_once` (0: all of its lanes) go through a pass at once.
  StepMemory operator()(std::int64_t lanes_at_once);
  // Of one lane, forward and backward, about.
  double flops_of_lane() const;

 private:
  std::int64_t peak_of_step();
  std::int64_t peak_of_pictures(std::int64_t count);

  ops::Allocations tensors_;
  Training training_;
  StepMemory memory_;  // but for the passes
};

// With something to spare for what is not counted.
bool fits(const StepMemory& memory, const MemoryLeft& left);

// The numbers of lanes at once that are worth a look: all of them, and every half of the one
// before, down to 1.
std::vector<std::int64_t> lanes_at_once_choices(const recipe::Recipe& recipe, const Ranks& ranks);

// How many lanes at once to take: what was asked for; if nothing was (0), of the choices above the
// most that fit, but no more than keep this thread's device busy: more would take memory and save
// no time. Returns 0 for all. Error(kEnvironment), with the numbers, if that does not fit. Says in
// the log what did not fit. `processes`: that share this machine; 0: what was asked for is taken as
// it is. Bits: never.
std::int64_t lanes_at_once_that_fit(const recipe::Recipe& recipe,
                                    const std::vector<std::int64_t>& sample_shape,
                                    const Ranks& ranks, std::int64_t asked, int processes);

}  // namespace lockstep::train
