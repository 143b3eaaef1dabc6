// What a step needs in memory, before anything is computed; and how many lanes at once fit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/memory.h"
#include "lockstep/lane/plan.h"
#include "lockstep/ops/memory.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Bytes of tensors on one rank, on a GPU with its kernels' scratch memory. The program itself (some
// 200 MiB) and its threads' scratch memory are not among them.
struct StepMemory {
  std::int64_t state = 0;  // parameters, buffers, optimiser slots, averages
  // Of the whole state, on rank 0, while a checkpoint is written beside what comes next.
  std::int64_t copy = 0;
  std::int64_t passes = 0;    // activations, gradients and pending partials of the largest phase
  std::int64_t pictures = 0;  // of samples.count samples, or divided slots that a checkpoint
                              // gathers; never beside the passes
  std::int64_t ahead = 0;     // samples of the next step
  std::int64_t sums = 0;      // of several ranks' gradients, beside the partials (lane/messages.h)
  std::int64_t messages = 0;  // of the exchange: those that are on their way at a time

  std::int64_t exchange() const { return sums + messages; }
  std::int64_t beside_state() const {
    return copy + ahead + std::max(passes + exchange(), pictures);
  }
  std::int64_t total() const { return state + beside_state(); }
};

// "67 MiB (state 11 MiB, passes 46 MiB)", and what several ranks' exchange takes.
std::string to_text(const StepMemory& memory);

// Bytes that the rank sends to others in a step, of gradients, statistics and slices.
struct StepTraffic {
  std::int64_t sent = 0;
  std::int64_t longest = 0;  // of these, to one rank in one operation
};

// How a rank exchanges with others.
struct Exchanges {
  Rank rank{0};
  bool in_device = false;  // comm::Group::takes_device_memory
};
Exchanges exchanges_of(const comm::Group& group);

// A walk through steps of the rank that has most lanes, without computing them (ops/memory.h): it
// takes as long as a step has ops, and hardly any memory. The walk is of a rank alone; what it
// exchanges with others is counted from the sizes of what it would send, and comes on top, so that
// it does not matter how far behind the passes the exchange is. One a process at a time, while no
// other thread computes.
//
// Buffers of NCCL, and of its transport for messages of the host, are not among it: ranks that have
// met have them, so they are not in what the GPU leaves when a step is planned. Nobody says how
// large NCCL's are: it takes them for each channel of each peer, and chooses channels by the
// machine; but all of them for the first message between two ranks (p2pTaskAppend in src/enqueue.cc
// and sharedNetBuffersInit in src/transport/net.cc of NCCL 2.28).
class StepWalk {
 public:
  // Errors: as make_training.
  StepWalk(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
           const Ranks& ranks, const Exchanges& exchanges = {});
  StepWalk(const StepWalk&) = delete;
  StepWalk& operator=(const StepWalk&) = delete;

  // When `lanes_at_once` (0: all of its lanes) go through a pass at once.
  StepMemory operator()(std::int64_t lanes_at_once);
  const StepTraffic& traffic() const { return traffic_; }  // of the step that was walked last
  double flops_of_lane() const { return train::flops_of_lane(training_); }

 private:
  void walk_step(StepMemory& memory);
  std::int64_t peak_of_pictures(std::int64_t count);

  ops::Allocations tensors_;
  const lane::Plan plan_;  // of all ranks
  const Exchanges exchanges_;
  const bool divided_;  // optimisers' slots
  Training training_;
  StepMemory memory_;  // but for a step's passes and exchange
  StepTraffic traffic_;
};

// With something to spare for what is not counted.
bool fits(const StepMemory& memory, const MemoryLeft& left);

// The numbers of lanes at once that are worth a look: all of them, and every half of the one
// before, down to 1.
std::vector<std::int64_t> lanes_at_once_choices(const recipe::Recipe& recipe, const Ranks& ranks);

// How many lanes at once to take: what was asked for; if nothing was (0), of the choices above the
// most that fit, but no more than keep this thread's device busy: more would take memory and save
// no time. Error(kEnvironment), with the numbers, if that does not fit. Says in the log what did
// not fit. `processes`: that share this machine; 0: what was asked for is taken as it is, without
// a plan. Bits: never.
StepPlan plan_step(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                   const Ranks& ranks, const comm::Group& group, std::int64_t asked, int processes);

}  // namespace lockstep::train
