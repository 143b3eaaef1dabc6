#include "lane/pending.h"

#include <algorithm>
#include <utility>

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

std::optional<PendingPartials::Pair> PendingPartials::paired(const Plan& plan,
                                                             const std::vector<Subtree>& ends,
                                                             const Waiting& one) {
  const auto parent_inside = [&](const Subtree& left, const Subtree& right) {
    const auto parent = numerics::parent_of(plan.lanes(), left, right);
    const bool joins =
        parent && std::ranges::any_of(ends, [&](auto& end) { return inside(*parent, end); });
    return joins ? parent : std::nullopt;
  };
  const auto next = std::ranges::find_if(
      waiting_, [&](const Waiting& other) { return one.node.first < other.node.first; });
  if (next != waiting_.begin()) {
    const auto left = next - 1;
    if (const auto parent = parent_inside(left->node, one.node)) {
      Pair pair{*parent, left->sum, one.sum};
      waiting_.erase(left);
      return pair;
    }
  }
  if (next != waiting_.end()) {
    if (const auto parent = parent_inside(one.node, next->node)) {
      Pair pair{*parent, one.sum, next->sum};
      waiting_.erase(next);
      return pair;
    }
  }
  waiting_.insert(next, one);
  return std::nullopt;
}

bool PendingPartials::add(const Plan& plan, const std::vector<Subtree>& ends,
                          const std::vector<Subtree>& nodes, const Tensor& rows) {
  std::unique_lock lock(mutex_);
  if (nodes == ends) {
    whole_ = rows;
    return true;
  }
  bool known = false;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    Waiting next{nodes[row], rows.narrow(0, static_cast<std::int64_t>(row), 1)};
    while (auto pair = paired(plan, ends, next)) {
      lock.unlock();
      next = {pair->parent, added(pair->left, pair->right)};
      pair.reset();
      lock.lock();
    }
    known = std::ranges::equal(waiting_, ends, {}, &Waiting::node);
  }
  return known;
}

Tensor PendingPartials::take() {
  const std::scoped_lock lock(mutex_);
  if (whole_.defined()) return std::move(whole_);
  if (waiting_.size() == 1) return std::exchange(waiting_, {}).front().sum;
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
