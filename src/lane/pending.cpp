#include "lane/pending.h"

#include <algorithm>

#include "lockstep/ops/device.h"
#include "lockstep/ops/view.h"

namespace lockstep::lane {
namespace {

using at::Tensor;
using numerics::Subtree;

bool inside(const Subtree& node, const Subtree& end) {
  return end.first <= node.first && node.first + node.count <= end.first + end.count;
}

}  // namespace

Tensor added(const Tensor& left, const Tensor& right) {
  Tensor sum = ops::empty(left.sizes());
  ops::device().binary(numerics::Binary::kAdd, sum.numel(), ops::read(left), ops::read(right),
                       ops::write(sum));
  return sum;
}

void PendingPartials::add(const Plan& plan, const std::vector<Subtree>& ends,
                          const std::vector<Subtree>& nodes, const Tensor& rows) {
  if (nodes == ends) {
    whole_ = rows;
    return;
  }
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    Waiting next{nodes[row], rows.narrow(0, static_cast<std::int64_t>(row), 1)};
    while (!waiting_.empty()) {
      const auto parent = numerics::parent_of(plan.lanes(), waiting_.back().node, next.node);
      if (!parent || std::ranges::none_of(ends, [&](auto& end) { return inside(*parent, end); }))
        break;
      next = {*parent, added(waiting_.back().sum, next.sum)};
      waiting_.pop_back();
    }
    waiting_.push_back(std::move(next));
  }
}

Tensor PendingPartials::take() {
  if (whole_.defined()) return std::move(whole_);
  if (waiting_.size() == 1) return std::move(waiting_.front().sum);
  std::vector<std::int64_t> sizes = waiting_.front().sum.sizes().vec();
  sizes[0] = static_cast<std::int64_t>(waiting_.size());
  Tensor rows = ops::empty(sizes);
  float* to = ops::write(rows);
  for (const Waiting& one : waiting_) {
    ops::device().copy(static_cast<std::size_t>(one.sum.numel()) * sizeof(float),
                       ops::read(one.sum), to);
    to += one.sum.numel();
  }
  waiting_.clear();
  return rows;
}

}  // namespace lockstep::lane
