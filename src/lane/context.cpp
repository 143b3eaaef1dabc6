#include "lockstep/lane/context.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/ops/view.h"
#include "lockstep/ops/where.h"

namespace lockstep::lane {

namespace {

std::string name_of(const Tensor& root) {
  return ops::where().module + " [" + shape_text(root.sizes()) + "]";
}

}  // namespace

Context::Context(const Plan& plan, comm::Group& group)
    : Context(plan, group, plan.partition().lanes_of(group.rank())) {}

Context::Context(const Plan& plan, comm::Group& group, const Portion& portion)
    : plan_(&plan),
      group_(&group),
      portion_(portion),
      lanes_(plan.blocks(portion)),
      lane_gather_(std::make_shared<LaneGather>(plan, group, portion)) {}

Context Context::evaluation(std::int64_t samples) {
  Context context;
  context.lanes_ = {.samples_per_lane = samples, .lanes = {1}};
  return context;
}

Context Context::shadow(Lane lane) const {
  LOCKSTEP_ASSERT(group_ && !plan().isolated().empty());
  Context context;
  context.plan_ = plan_;
  context.portion_ = {lane, 1};
  context.lanes_ = plan_->blocks(context.portion_);
  context.lane_gather_ = std::make_shared<LaneGather>(lane_gather_);
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
  LOCKSTEP_ASSERT(root.is_contiguous());
  std::vector<std::int64_t> sizes = root.sizes().vec(), strides = root.strides().vec();
  sizes.insert(sizes.begin(), lanes_.partials());
  strides.insert(strides.begin(), 0);
  const Tensor partials = ops::view(root, sizes, strides);
  if (!training() || !root.requires_grad() || !at::GradMode::is_enabled()) return partials;
  const auto known = std::ranges::find_if(
      entered_, [&](const Entered& entered) { return entered.root.is_same(root); });
  const auto number = static_cast<std::size_t>(known - entered_.begin());
  if (known == entered_.end()) entered_.push_back({root, name_of(root)});
  const auto hear = [listener = on_partials_, use = uses_.size()](const Tensor& gradient) {
    if (*listener) (*listener)(use, gradient);
  };
  uses_.push_back({number, ops::over_border(partials, hear)});
  return uses_.back().tensor;
}

}  // namespace lockstep::lane
