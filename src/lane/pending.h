// A tensor's partials while portions bring them: joined in the tree as soon as both children of a
// node are known, so that in each of the rank's subtrees at most one partial a level waits.
#pragma once

#include <vector>

#include "lockstep/lane/plan.h"
#include "lockstep/ops/ops.h"

namespace lockstep::lane {

// left + right, element by element, in a tensor of its own.
at::Tensor added(const at::Tensor& left, const at::Tensor& right);

class PendingPartials {
 public:
  // Of the next portion: rows [P, ...], one for each of `nodes`. `ends`: the rank's subtrees, in
  // which nodes are joined. Bits: rows and the plan's lanes.
  void add(const Plan& plan, const std::vector<numerics::Subtree>& ends,
           const std::vector<numerics::Subtree>& nodes, const at::Tensor& rows);
  // Of all of `ends`, once all portions are there: [ends, ...].
  at::Tensor take();

 private:
  struct Waiting {
    numerics::Subtree node;
    at::Tensor sum;  // [1, ...]
  };
  std::vector<Waiting> waiting_;  // in order of lanes
  at::Tensor whole_;              // of a portion that brought all at once
};

}  // namespace lockstep::lane
