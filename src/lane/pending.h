// A tensor's partials while portions bring them, in any order and from several threads: joined in
// the tree as soon as both children of a node are known. Where portions come in order, at most one
// partial a level waits in each of the rank's subtrees.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "lockstep/lane/plan.h"
#include "lockstep/ops/ops.h"

namespace lockstep::lane {

// left + right, element by element, in a tensor of its own.
at::Tensor added(const at::Tensor& left, const at::Tensor& right);

class PendingPartials {
 public:
  // Of one portion: rows [P, ...], one for each of `nodes`. `ends`: the rank's subtrees, in which
  // nodes are joined. Whether all of them are known now: true once. Bits: rows and the plan's
  // lanes, not who comes first.
  bool add(const Plan& plan, const std::vector<numerics::Subtree>& ends,
           const std::vector<numerics::Subtree>& nodes, const at::Tensor& rows);
  // Of all of `ends`, once they are known: [ends, ...].
  at::Tensor take();

 private:
  struct Waiting {
    numerics::Subtree node;
    at::Tensor sum;  // [1, ...]
  };
  // Takes the sibling of `one` out, if it waits and their parent lies in one of `ends`, and says
  // what to add to what; else lets `one` wait.
  struct Pair {
    numerics::Subtree parent;
    at::Tensor left, right;
  };
  std::optional<Pair> paired(const Plan& plan, const std::vector<numerics::Subtree>& ends,
                             const Waiting& one);

  std::mutex mutex_;              // all below; not held while numbers are added
  std::vector<Waiting> waiting_;  // in order of lanes
  at::Tensor whole_;              // of a portion that brought all at once
};

}  // namespace lockstep::lane
