#include "lockstep/lane/exchange.h"

#include <algorithm>

#include "lane/parcel_layout.h"
#include "lockstep/comm/journal.h"
#include "lockstep/core/error.h"
#include "lockstep/core/inject.h"
#include "lockstep/numerics/cpu.h"
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

// What a rank contributes, where the host can read it.
struct OnHost {
  explicit OnHost(const Tensor& partials)
      : rows(partials.size(0)), width(partials.numel() / rows), values(partials) {}
  const float* row(std::int64_t i) const { return values.floats().data() + i * width; }

  std::int64_t rows, width;
  ops::HostView values;
};

// This rank's partials of another rank's slices.
Parcel packed(const ParcelLayout& layout, const std::vector<OnHost>& contributions, Rank to) {
  const std::int64_t rows = contributions.front().rows;
  const std::vector<Slice> slices = layout.of(to);
  Parcel parcel = layout.parcel(to, static_cast<std::size_t>(rows));
  std::vector<const float*> pieces;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < slices.size(); ++i)
      pieces.push_back(contributions[i].row(row) + slices[i].first);
  parcel.fill(pieces);
  return parcel;
}

// The sums of this rank's slices, flat, in place of whole tensors.
std::vector<Tensor> taken_apart(const Parcel& sum, const std::vector<Slice>& slices) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const std::int64_t size = slices[i].size();
    tensors.push_back(ops::from_host({sum.piece(i), static_cast<std::size_t>(size)}, {size}));
  }
  return tensors;
}

}  // namespace

// Tensors that all stay in slices, or all become whole.
class Exchange::Transfer {
 public:
  Transfer(const Plan& plan, comm::Group& group, std::vector<Contribution> contributions)
      : plan_(plan),
        group_(group),
        contributions_(std::move(contributions)),
        on_host_(on_host(contributions_)),
        layout_(pieces_of(contributions_)),
        own_(layout_.of(group.rank())) {
    // Its own partials go nowhere.
    for (int r = 0; r < group.size(); ++r) {
      const auto subtrees = plan.subtrees(Rank(r));
      nodes_.insert(nodes_.end(), subtrees.begin(), subtrees.end());
      rows_.push_back(static_cast<std::int64_t>(subtrees.size()));
      const bool own = Rank(r) == group.rank();
      outgoing_.push_back(own ? Parcel({}) : packed(layout_, on_host_, Rank(r)));
      incoming_.push_back(own ? Parcel({}) : layout_.parcel(group.rank(), subtrees.size()));
    }
    tell_journal("partials of ");
    verb_ = group.begin_all_to_all(views(std::as_const(outgoing_)), views(incoming_));
  }

  void sum() {
    verb_->finish();
    outgoing_.clear();
    for (std::size_t r = 0; r < incoming_.size(); ++r)
      if (Rank(static_cast<std::int64_t>(r)) != group_.rank())
        LOCKSTEP_STRIKE(kArrived, group_, incoming_[r].floats(), incoming_[r].count());
    Parcel sum = layout_.parcel(group_.rank(), 1);
    std::vector<const float*> rows;
    sum.tiles([&](std::size_t piece, std::int64_t first, std::int64_t count) {
      take_rows(piece, first, rows);
      ops::device().host().tree_sum_nodes(plan_.lanes(), nodes_, rows.data(), count,
                                          sum.piece(piece) + first);
      sum.seal(piece, first);
    });
    incoming_.clear();
    on_host_.clear();
    if (contributions_.front().sliced) {
      result_ = taken_apart(sum, own_);
    } else {
      gathered_ = layout_.parcels();
      Parcel& own = gathered_[static_cast<std::size_t>(group_.rank().value)];
      own = std::move(sum);
      tell_journal("sums of ");
      verb_ = group_.begin_all_gather(own.bytes(), views(gathered_));
    }
  }

  std::vector<Tensor> finish() {
    if (contributions_.front().sliced) return std::move(result_);
    verb_->finish();
    for (const Contribution& one : contributions_)
      result_.push_back(ops::empty(one.partials.sizes().slice(1)));
    layout_.unpack(gathered_, group_, result_);
    return std::move(result_);
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

  static std::vector<OnHost> on_host(const std::vector<Contribution>& contributions) {
    std::vector<OnHost> all;
    for (const Contribution& one : contributions) all.emplace_back(one.partials);
    return all;
  }

  // Everybody's partials of one tile of this rank's slices; what arrived is checked.
  void take_rows(std::size_t piece, std::int64_t first, std::vector<const float*>& rows) const {
    rows.clear();
    for (std::size_t r = 0; r < incoming_.size(); ++r) {
      const Rank sender(static_cast<std::int64_t>(r));
      for (std::int64_t row = 0; row < rows_[r]; ++row) {
        if (sender == group_.rank()) {
          rows.push_back(on_host_[piece].row(row) + own_[piece].first + first);
          continue;
        }
        const std::size_t sent = static_cast<std::size_t>(row) * own_.size() + piece;
        layout_.require_intact(incoming_[r], sent, first, group_.rank(), r, group_);
        rows.push_back(incoming_[r].piece(sent) + first);
      }
    }
  }

  const Plan plan_;
  comm::Group& group_;
  const std::vector<Contribution> contributions_;
  std::vector<OnHost> on_host_;
  const ParcelLayout layout_;
  const std::vector<Slice> own_;
  std::vector<numerics::Subtree> nodes_;     // of all ranks' partials
  std::vector<std::int64_t> rows_;           // partials, by rank
  std::vector<Parcel> outgoing_, incoming_;  // by rank
  std::vector<Parcel> gathered_;             // by rank
  std::vector<Tensor> result_;
  std::unique_ptr<comm::Verb> verb_;  // ends before the parcels
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
