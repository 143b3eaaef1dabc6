#include "lockstep/lane/exchange.h"

#include <algorithm>

#include "lane/parcel.h"
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
  for (const auto& [name, partials] : contributions) {
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

// Who sums what of the tensors that are exchanged together.
class Shares {
 public:
  Shares(const std::vector<Contribution>& contributions, int world)
      : contributions_(contributions), world_(world) {}

  // The slices that fall to a rank, one a tensor.
  std::vector<Slice> of(Rank rank) const {
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < contributions_.size(); ++i) {
      const Tensor& partials = contributions_[i].partials;
      slices.push_back(slice_of(static_cast<std::int64_t>(i), partials.numel() / partials.size(0),
                                rank, world_));
    }
    return slices;
  }

  // A parcel of `rows` times the slices of a rank.
  Parcel parcel(Rank rank, std::size_t rows) const {
    std::vector<std::int64_t> sizes;
    for (std::size_t row = 0; row < rows; ++row)
      for (const Slice& slice : of(rank)) sizes.push_back(slice.size());
    return Parcel(std::move(sizes));
  }

  // Throws unless `parcel`, rows of rank `owner`'s slices that `sender` sent, is as it was sent.
  void require_intact(const Parcel& parcel, Rank owner, std::size_t sender,
                      const comm::Group& group) const {
    const auto damage = parcel.damage();
    if (!damage) return;
    const std::size_t tensor = damage->piece % contributions_.size();
    const std::int64_t first = of(owner)[tensor].first;
    refuse_arrived("gradient of " + contributions_[tensor].name + ", elements " +
                       std::to_string(first + damage->first) + " to " +
                       std::to_string(first + damage->last - 1),
                   sender, group);
  }

 private:
  const std::vector<Contribution>& contributions_;
  int world_;
};

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

std::vector<ByteView> views(const std::vector<Parcel>& parcels) {
  std::vector<ByteView> bytes;
  for (const Parcel& parcel : parcels) bytes.push_back(parcel.bytes());
  return bytes;
}
std::vector<MutableByteView> views(std::vector<Parcel>& parcels) {
  std::vector<MutableByteView> bytes;
  for (Parcel& parcel : parcels) bytes.push_back(parcel.bytes());
  return bytes;
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

}  // namespace

std::vector<Tensor> exchange(const Plan& plan, comm::Group& group,
                             const std::vector<Contribution>& contributions) {
  if (contributions.empty()) return {};
  if (group.size() == 1) return sum_alone(plan, contributions);
  const Shares shares(contributions, group.size());
  std::vector<Parcel> slices;
  for (int r = 0; r < group.size(); ++r)
    slices.push_back(Rank(r) == group.rank() ? summed(plan, group, shares, contributions)
                                             : shares.parcel(Rank(r), 1));
  const Parcel& mine = slices[static_cast<std::size_t>(group.rank().value)];
  group.all_gather(mine.bytes(), views(slices));

  std::vector<Tensor> whole;
  for (const auto& [name, partials] : contributions)
    whole.push_back(ops::empty(partials.sizes().slice(1)));
  for (std::size_t r = 0; r < slices.size(); ++r) {
    const Rank owner(static_cast<std::int64_t>(r));
    if (owner != group.rank()) {
      LOCKSTEP_STRIKE(kGathered, group, slices[r].floats(), slices[r].count());
      shares.require_intact(slices[r], owner, r, group);
    }
    const float* at = slices[r].floats();
    const std::vector<Slice> of_tensors = shares.of(owner);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::copy_n(at, of_tensors[i].size(), ops::write(whole[i]) + of_tensors[i].first);
      at += of_tensors[i].size();
    }
  }
  return whole;
}

}  // namespace lockstep::lane
