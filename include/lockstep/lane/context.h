// What a forward pass knows: its lanes, its group, and the border between the two graphs.
//
// The *parameter graph* is computed once a phase, the same on every rank. A tensor of it enters the
// lane graph here, detached, with one slice a partial; its gradient comes back as
// partials, which lane/exchange.h makes whole.
#pragma once

#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/lane/plan.h"
#include "lockstep/ops/ops.h"

namespace lockstep::lane {

using at::Tensor;

// What one tensor of the parameter graph sent over the border.
struct Entered {
  Tensor root;               // in the parameter graph: a parameter, or computed from parameters
  std::vector<Tensor> uses;  // in the lane graph, [P, ...], in use order
};

class Context {
 public:
  // A training phase over the rank's lanes.
  Context(const Plan& plan, comm::Group& group);
  // Sampling and evaluation: `samples` in one lane, one rank, no gradients, running statistics.
  static Context evaluation(std::int64_t samples);

  const numerics::LaneBlocks& lanes() const { return lanes_; }
  bool training() const { return group_ != nullptr; }
  const Plan& plan() const;    // training only
  comm::Group& group() const;  // training only

  // The tensor as the lane graph sees it: [P, ...root's shape], stride 0 over P. Gradients are
  // recorded for it only if it requires one. Each call is one use. A use's gradient must come out
  // of one sum over samples (ops::over_border, which refuses anything else): a penalty on gradients
  // makes a forward pass of its own.
  Tensor enter(const Tensor& root);

  // What was entered with gradients, in order of first use.
  const std::vector<Entered>& entered() const { return entered_; }

 private:
  Context() = default;
  const Plan* plan_ = nullptr;
  comm::Group* group_ = nullptr;
  numerics::LaneBlocks lanes_;
  std::vector<Entered> entered_;
};

}  // namespace lockstep::lane
