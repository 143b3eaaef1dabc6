#include "lockstep/lane/exchange.h"

#include <algorithm>

#include "lane/parcel_layout.h"
#include "lockstep/comm/journal.h"
#include "lockstep/core/error.h"
#include "lockstep/lane/inject.h"
#include "lockstep/ops/device.h"
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
    ops::device().tree_sum_nodes(plan.lanes(), nodes, rows.data(), floats,
                                 ops::write(whole.back()));
  }
  return whole;
}

}  // namespace

Tensor Contribution::place(Rank own) const {
  return sliced ? ops::empty({division.slice(own).size()}) : ops::empty(partials.sizes().slice(1));
}

// Tensors that all stay in slices, or all become whole.
class Exchange::Transfer {
 public:
  Transfer(const Plan& plan, comm::Group& group, std::vector<Contribution> contributions)
      : plan_(plan),
        group_(group),
        side_(group),
        contributions_(with_places(std::move(contributions), group.rank())),
        partials_(brought(side_, contributions_)),
        layout_(pieces_of(contributions_)),
        own_(layout_.of(group.rank())) {
    // Its own partials go nowhere.
    SealedTiles leaving;
    for (int r = 0; r < group.size(); ++r) {
      const auto subtrees = plan.subtrees(Rank(r));
      nodes_.insert(nodes_.end(), subtrees.begin(), subtrees.end());
      rows_.push_back(subtrees.size());
      const bool own = Rank(r) == group.rank();
      outgoing_.push_back(own ? Parcel() : packed(Rank(r), leaving));
      incoming_.push_back(own ? Parcel() : layout_.parcel(side_, group.rank(), subtrees.size()));
    }
    leaving.copy(side_, nullptr);
    side_.settle();
    tell_journal("partials of ");
    operation_ =
        group.begin_all_to_all(views(outgoing_), writable_views(incoming_), side_.memory());
  }

  void sum() {
    operation_->finish();
    outgoing_.clear();
    for (std::size_t r = 0; r < incoming_.size(); ++r)
      if (Rank(static_cast<std::int64_t>(r)) != group_.rank())
        LOCKSTEP_STRIKE(kArrived, group_, incoming_[r].floats(), incoming_[r].count());
    Parcel sum = layout_.parcel(side_, group_.rank(), 1);
    add_up(sum);
    incoming_.clear();
    partials_.clear();
    if (contributions_.front().sliced) {
      result_.emplace(side_, places());
      take_apart(sum);
    } else {
      gathered_ = layout_.parcels(side_);
      Parcel& own = gathered_[static_cast<std::size_t>(group_.rank().value)];
      own = std::move(sum);
      side_.settle();
      tell_journal("sums of ");
      operation_ = group_.begin_all_gather(own.bytes(), writable_views(gathered_), side_.memory());
    }
  }

  std::vector<Tensor> finish() {
    Arrived sums;
    std::vector<const Arrived*> arrived = {&partials_arrived_};
    if (!contributions_.front().sliced) {
      operation_->finish();
      result_.emplace(side_, places());
      sums = layout_.unpack(side_, gathered_, group_, result_->tensors());
      arrived.push_back(&sums);
    }
    layout_.require_intact(side_, arrived, group_);
    return result_->bring_back();
  }

 private:
  void tell_journal(const std::string& what) {
    comm::Journal* const journal = group_.journal();
    if (!journal) return;
    const std::size_t more = contributions_.size() - 1;
    journal->about(what + contributions_.front().name +
                   (more > 0 ? " and " + std::to_string(more) + " more" : ""));
  }

  static std::vector<ParcelLayout::Piece> pieces_of(
      const std::vector<Contribution>& contributions) {
    std::vector<ParcelLayout::Piece> pieces;
    for (const Contribution& one : contributions) pieces.push_back({one.name, one.division});
    return pieces;
  }

  static std::vector<Tensor> brought(const Side& side,
                                     const std::vector<Contribution>& contributions) {
    std::vector<Tensor> partials;
    for (const Contribution& one : contributions) partials.push_back(one.partials);
    return side.bring(partials);
  }

  static std::vector<Contribution> with_places(std::vector<Contribution> contributions, Rank own) {
    for (Contribution& one : contributions)
      if (!one.into.defined()) one.into = one.place(own);
    return contributions;
  }

  std::vector<Tensor> places() const {
    std::vector<Tensor> tensors;
    for (const Contribution& one : contributions_) tensors.push_back(one.into);
    return tensors;
  }

  // This rank's partials: of tensor i, from float `first` on.
  const float* partial(std::size_t i, std::size_t row, std::int64_t first) const {
    const Tensor& all = partials_[i];
    return all.const_data_ptr<float>() +
           static_cast<std::int64_t>(row) * (all.numel() / all.size(0)) + first;
  }

  // A parcel for this rank's partials of another rank's slices, and what fills it.
  Parcel packed(Rank to, SealedTiles& leaving) const {
    const auto rows = static_cast<std::size_t>(partials_.front().size(0));
    const std::vector<Slice> slices = layout_.of(to);
    Parcel parcel = layout_.parcel(side_, to, rows);
    std::vector<const float*> pieces;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < slices.size(); ++i)
        pieces.push_back(partial(i, row, slices[i].first));
    leaving.pack(pieces, parcel);
    return parcel;
  }

  // Everybody's partials of this rank's slices. What arrived is checked on the way, and refused
  // before the result is used.
  void add_up(const Parcel& sum) {
    SealedTiles all;
    const auto owner = static_cast<std::size_t>(group_.rank().value);
    sum.tiles([&](std::size_t piece, std::int64_t first, std::int64_t count) {
      for (std::size_t r = 0; r < incoming_.size(); ++r) {
        for (std::size_t row = 0; row < rows_[r]; ++row) {
          const std::size_t sent = row * own_.size() + piece;
          all.rows.push_back(
              r == owner
                  ? numerics::SealedRow{partial(piece, row, own_[piece].first + first), nullptr}
                  : numerics::SealedRow{incoming_[r].piece(sent) + first,
                                        incoming_[r].leaf(sent, first)});
          partials_arrived_.rows.push_back({piece, first, owner, r});
        }
      }
      all.tiles.push_back({sum.piece(piece) + first, count, sum.leaf(piece, first)});
    });
    partials_arrived_.broken = side_.empty({std::ssize(all.rows)});
    side_.device().sum_sealed(plan_.lanes(), nodes_, all.rows, all.tiles,
                              partials_arrived_.broken.mutable_data_ptr<float>());
  }

  // The sums of this rank's slices, flat, where the result will be.
  void take_apart(const Parcel& sum) const {
    std::vector<float*> to;
    for (const Tensor& one : result_->tensors()) to.push_back(one.mutable_data_ptr<float>());
    SealedTiles copies;
    copies.unpack(sum, /*travelled=*/false, to);
    copies.copy(side_, nullptr);
  }

  const Plan plan_;
  comm::Group& group_;
  const Side side_;
  const std::vector<Contribution> contributions_;
  std::vector<Tensor> partials_;  // this rank's, on the side
  const ParcelLayout layout_;
  const std::vector<Slice> own_;
  std::vector<numerics::Subtree> nodes_;     // of all ranks' partials
  std::vector<std::size_t> rows_;            // partials, by rank
  std::vector<Parcel> outgoing_, incoming_;  // by rank
  Arrived partials_arrived_;
  std::vector<Parcel> gathered_;  // by rank
  std::optional<StandIns> result_;
  std::unique_ptr<comm::Operation> operation_;  // ends before the parcels
};

Exchange::Exchange(const Plan& plan, comm::Group& group,
                   const std::vector<Contribution>& contributions)
    : result_(contributions.size()) {
  if (group.size() == 1) {
    result_ = sum_alone(plan, contributions);
    return;
  }
  for (const bool sliced : {false, true}) {
    std::vector<Contribution> chosen;
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < contributions.size(); ++i) {
      if (contributions[i].sliced != sliced) continue;
      chosen.push_back(contributions[i]);
      where.push_back(i);
    }
    if (chosen.empty()) continue;
    transfers_.push_back(std::make_unique<Transfer>(plan, group, std::move(chosen)));
    where_.push_back(std::move(where));
  }
}

Exchange::~Exchange() = default;

void Exchange::sum() {
  for (const auto& transfer : transfers_) transfer->sum();
}

std::vector<Tensor> Exchange::finish() {
  for (std::size_t a = 0; a < transfers_.size(); ++a) {
    const std::vector<Tensor> sums = transfers_[a]->finish();
    for (std::size_t i = 0; i < sums.size(); ++i) result_[where_[a][i]] = sums[i];
  }
  return std::move(result_);
}

std::vector<Tensor> exchange(const Plan& plan, comm::Group& group,
                             const std::vector<Contribution>& contributions) {
  Exchange whole(plan, group, contributions);
  whole.sum();
  return whole.finish();
}

}  // namespace lockstep::lane
