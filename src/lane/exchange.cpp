#include "lockstep/lane/exchange.h"

#include <algorithm>

#include "lane/shares.h"
#include "lockstep/core/error.h"
#include "lockstep/core/inject.h"
#include "lockstep/numerics/reduce.h"
#include "lockstep/ops/view.h"

namespace lockstep::lane {
namespace {

// One rank: nothing travels.
std::vector<Tensor> sum_alone(const Plan& plan, const std::vector<Contribution>& contributions) {
  const std::vector<numerics::Subtree> nodes = plan.subtrees(Rank(0));
  std::vector<Tensor> whole;
  for (const Contribution& one : contributions) {
    const Tensor& partials = one.partials;
    whole.push_back(ops::first_part(partials));
    if (nodes.size() == 1) continue;
    whole.back() = ops::empty(partials.sizes().slice(1));
    const std::int64_t floats = whole.back().numel();
    std::vector<const float*> rows;
    for (std::size_t row = 0; row < nodes.size(); ++row)
      rows.push_back(ops::read(partials) + static_cast<std::int64_t>(row) * floats);
    numerics::tree_sum_nodes(plan.lanes(), nodes, rows.data(), floats, ops::write(whole.back()));
  }
  return whole;
}

const float* row_of(const Contribution& contribution, std::int64_t row) {
  const Tensor& partials = contribution.partials;
  return ops::read(partials) + row * (partials.numel() / partials.size(0));
}

// This rank's partials of another rank's slices.
Parcel packed(const Shares& shares, const std::vector<Contribution>& contributions, Rank to) {
  const std::int64_t rows = contributions.front().partials.size(0);
  const std::vector<Slice> slices = shares.of(to);
  Parcel parcel = shares.parcel(to, static_cast<std::size_t>(rows));
  std::vector<const float*> pieces;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < slices.size(); ++i)
      pieces.push_back(row_of(contributions[i], row) + slices[i].first);
  parcel.fill(pieces);
  return parcel;
}

// This rank's slices: everybody's partials of them, and the tree over all lanes. Its own partials
// go nowhere.
Parcel summed(const Plan& plan, comm::Group& group, const Shares& shares,
              const std::vector<Contribution>& contributions) {
  std::vector<Parcel> outgoing, incoming;
  std::vector<numerics::Subtree> nodes;
  for (int r = 0; r < group.size(); ++r) {
    const auto subtrees = plan.subtrees(Rank(r));
    nodes.insert(nodes.end(), subtrees.begin(), subtrees.end());
    const bool own = Rank(r) == group.rank();
    outgoing.push_back(own ? Parcel({}) : packed(shares, contributions, Rank(r)));
    incoming.push_back(own ? Parcel({}) : shares.parcel(group.rank(), subtrees.size()));
  }
  group.all_to_all(views(std::as_const(outgoing)), views(incoming));
  for (std::size_t r = 0; r < incoming.size(); ++r) {
    if (Rank(static_cast<std::int64_t>(r)) == group.rank()) continue;
    LOCKSTEP_STRIKE(kArrived, group, incoming[r].floats(), incoming[r].count());
    shares.require_intact(incoming[r], group.rank(), r, group);
  }

  Parcel sum = shares.parcel(group.rank(), 1);
  float* out = sum.floats();
  const std::vector<Slice> slices = shares.of(group.rank());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].size() == 0) continue;
    const std::int64_t before = out - sum.floats();
    std::vector<const float*> rows;
    for (std::size_t r = 0; r < incoming.size(); ++r) {
      const Rank sender(static_cast<std::int64_t>(r));
      const auto partials = static_cast<std::int64_t>(plan.subtrees(sender).size());
      for (std::int64_t row = 0; row < partials; ++row)
        rows.push_back(sender == group.rank() ? row_of(contributions[i], row) + slices[i].first
                                              : incoming[r].floats() + row * sum.count() + before);
    }
    numerics::tree_sum_nodes(plan.lanes(), nodes, rows.data(), slices[i].size(), out);
    out += slices[i].size();
  }
  sum.seal();
  return sum;
}

// The sums of this rank's slices, flat, in place of whole tensors.
std::vector<Tensor> taken_apart(const Parcel& sum, const std::vector<Slice>& slices) {
  std::vector<Tensor> tensors;
  const float* at = sum.floats();
  for (const Slice& slice : slices) {
    tensors.push_back(ops::empty({slice.size()}));
    std::copy_n(at, slice.size(), ops::write(tensors.back()));
    at += slice.size();
  }
  return tensors;
}

// Tensors that all stay in slices, or all become whole.
std::vector<Tensor> exchange_alike(const Plan& plan, comm::Group& group,
                                   const std::vector<Contribution>& contributions) {
  if (contributions.empty()) return {};
  std::vector<Shares::Piece> pieces;
  for (const Contribution& one : contributions)
    pieces.push_back({one.name, one.turn, one.partials.numel() / one.partials.size(0)});
  const Shares shares(std::move(pieces), group.size());
  Parcel mine = summed(plan, group, shares, contributions);
  if (contributions.front().sliced) return taken_apart(mine, shares.of(group.rank()));
  std::vector<Tensor> whole;
  for (const Contribution& one : contributions)
    whole.push_back(ops::empty(one.partials.sizes().slice(1)));
  all_gather(shares, std::move(mine), group, whole);
  return whole;
}

}  // namespace

std::vector<Tensor> exchange(const Plan& plan, comm::Group& group,
                             const std::vector<Contribution>& contributions) {
  if (group.size() == 1) return sum_alone(plan, contributions);
  std::vector<Tensor> result(contributions.size());
  for (const bool sliced : {false, true}) {
    std::vector<Contribution> alike;
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < contributions.size(); ++i) {
      if (contributions[i].sliced != sliced) continue;
      alike.push_back(contributions[i]);
      where.push_back(i);
    }
    const std::vector<Tensor> sums = exchange_alike(plan, group, alike);
    for (std::size_t i = 0; i < where.size(); ++i) result[where[i]] = sums[i];
  }
  return result;
}

}  // namespace lockstep::lane
