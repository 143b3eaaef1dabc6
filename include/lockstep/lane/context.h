// What a forward pass knows: its lanes, its group, and the border between the two graphs.
//
// The *parameter graph* is computed once a phase, the same on every rank. A tensor of it enters the
// lane graph here, detached, with one slice a partial; its gradient comes back as
// partials, which lane/exchange.h makes whole.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/ids.h"
#include "lockstep/lane/lane_gather.h"
#include "lockstep/lane/plan.h"
#include "lockstep/ops/ops.h"

namespace lockstep::lane {

using at::Tensor;

// A tensor of the parameter graph that went over the border.
struct Entered {
  Tensor root;       // a parameter, or computed from parameters
  std::string name;  // for messages: who entered it first, and its shape
};
struct Use {
  std::size_t entered;  // which of them
  Tensor tensor;        // in the lane graph, [P, ...]
};

// What is drawn for a phase's samples inside a network, by dropout: from streams of the seed, at
// the draws of the samples.
struct Draws {
  std::int64_t seed = 0;
  Draw first;  // of the first sample
};

class Context {
 public:
  // A training phase over all of the rank's lanes, or over a portion of them.
  Context(const Plan& plan, comm::Group& group);
  Context(const Plan& plan, comm::Group& group, const Portion& portion);
  // Sampling and evaluation: `samples` in one lane, one rank, no gradients, running statistics.
  static Context evaluation(std::int64_t samples);

  // The phase again for one lane, contributing nothing: a witness. What ranks gathered is read
  // again, in the same order. Only where the plan isolates lanes. Collective: no.
  Context shadow(Lane lane) const;

  const numerics::LaneBlocks& lanes() const { return lanes_; }
  const Portion& portion() const { return portion_; }  // a shadow's: its lane
  bool training() const { return plan_ != nullptr; }
  bool is_shadow() const { return lane_gather_ && lane_gather_->is_shadow(); }
  const Plan& plan() const;    // training only
  comm::Group& group() const;  // training only, and no shadow's

  // Given by the phase of a training objective. Without: networks draw nothing, as in sampling.
  void draw_at(Draws draws) { draws_ = draws; }
  const std::optional<Draws>& draws() const { return draws_; }

  // Values of every lane, from those of this rank's: training only. To be shared with whatever
  // gathers in a backward pass.
  const std::shared_ptr<LaneGather>& lane_gather() const { return lane_gather_; }

  // The tensor as the lane graph sees it: [P, ...root's shape], stride 0 over P. Gradients are
  // recorded for it only if it requires one. Each call is one use. A use's gradient must come out
  // of one sum over samples (ops::over_border, which refuses anything else): a penalty on gradients
  // makes a forward pass of its own.
  Tensor enter(const Tensor& root);

  // What was entered with gradients, in order of first use; and all uses, in order.
  const std::vector<Entered>& entered() const { return entered_; }
  const std::vector<Use>& uses() const { return uses_; }
  // While gradients are computed: called with a use's number and its partials once they are known.
  using OnPartials = std::function<void(std::size_t use, const Tensor& partials)>;
  void on_partials(OnPartials listener) { *on_partials_ = std::move(listener); }

 private:
  Context() = default;
  const Plan* plan_ = nullptr;
  comm::Group* group_ = nullptr;
  Portion portion_;
  numerics::LaneBlocks lanes_;
  std::optional<Draws> draws_;
  std::shared_ptr<LaneGather> lane_gather_;
  std::vector<Entered> entered_;
  std::vector<Use> uses_;
  std::shared_ptr<OnPartials> on_partials_ = std::make_shared<OnPartials>();
};

}  // namespace lockstep::lane
