#include "lockstep/lane/context.h"

#include "lockstep/core/error.h"

namespace lockstep::lane {

Context::Context(const Plan& plan, comm::Group& group)
    : plan_(&plan), group_(&group), lanes_(plan.blocks(group.rank())) {}

Context Context::evaluation(std::int64_t samples) {
  Context context;
  context.lanes_ = {.samples_per_lane = samples, .lanes = {1}};
  return context;
}

const Plan& Context::plan() const {
  LOCKSTEP_ASSERT(plan_, "evaluation has no plan");
  return *plan_;
}

comm::Group& Context::group() const {
  LOCKSTEP_ASSERT(group_, "evaluation has no group");
  return *group_;
}

Tensor Context::enter(const Tensor& root) {
  std::vector<std::int64_t> sizes = root.sizes().vec();
  sizes.insert(sizes.begin(), lanes_.partials());
  Tensor leaf = root.detach().unsqueeze(0).expand(sizes);
  if (!training() || !root.requires_grad() || !at::GradMode::is_enabled()) return leaf;
  leaf.requires_grad_(true);
  for (Entered& entered : entered_) {
    if (entered.root.is_same(root)) {
      entered.leaves.push_back(leaf);
      return ops::over_border(leaf);
    }
  }
  entered_.push_back({root, {leaf}});
  return ops::over_border(leaf);
}

}  // namespace lockstep::lane
