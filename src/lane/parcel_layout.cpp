#include "lane/parcel_layout.h"

#include <algorithm>

#include "lockstep/lane/inject.h"

namespace lockstep::lane {

std::vector<Slice> ParcelLayout::of(Rank rank) const {
  std::vector<Slice> slices;
  for (const Piece& piece : pieces_) slices.push_back(piece.division.slice(rank));
  return slices;
}

Parcel ParcelLayout::parcel(const Side& side, Rank rank, std::size_t rows) const {
  std::vector<std::int64_t> sizes;
  for (std::size_t row = 0; row < rows; ++row)
    for (const Slice& slice : of(rank)) sizes.push_back(slice.size());
  return {side, sizes};
}

std::vector<Parcel> ParcelLayout::parcels(const Side& side) const {
  std::vector<Parcel> all;
  for (int r = 0; r < pieces_.front().division.world(); ++r)
    all.push_back(parcel(side, Rank(r), 1));
  return all;
}

Arrived ParcelLayout::unpack(const Side& side, const std::vector<Parcel>& parcels,
                             const comm::Group& group, const std::vector<Tensor>& wholes) const {
  SealedTiles copies;
  Arrived arrived;
  for (std::size_t r = 0; r < parcels.size(); ++r) {
    const Rank owner(static_cast<std::int64_t>(r));
    const bool travelled = owner != group.rank();
    if (travelled) LOCKSTEP_STRIKE(kGathered, group, parcels[r].floats(), parcels[r].count());
    const std::vector<Slice> slices = of(owner);
    std::vector<float*> to;
    for (std::size_t i = 0; i < wholes.size(); ++i)
      to.push_back(wholes[i].mutable_data_ptr<float>() + slices[i].first);
    copies.unpack(parcels[r], travelled, to);
    parcels[r].tiles([&](std::size_t i, std::int64_t first, std::int64_t) {
      arrived.rows.push_back({i, first, r, r});
    });
  }
  arrived.broken = side.empty({std::ssize(arrived.rows)});
  copies.copy(side, arrived.broken.mutable_data_ptr<float>());
  return arrived;
}

void ParcelLayout::require_intact(const Side& side, const std::vector<const Arrived*>& arrived,
                                  const comm::Group& group) const {
  std::vector<Tensor> broken;
  for (const Arrived* const one : arrived) broken.push_back(one->broken);
  const std::vector<Tensor> known = side.read(broken);
  for (std::size_t k = 0; k < arrived.size(); ++k) {
    const ops::HostView flags(known[k]);
    const auto found = std::ranges::find_if(flags.floats(), [](float flag) { return flag != 0; });
    if (found == flags.floats().end()) continue;
    const Arrived::Row& row =
        arrived[k]->rows[static_cast<std::size_t>(found - flags.floats().begin())];
    const Slice slice = of(Rank(static_cast<std::int64_t>(row.owner)))[row.piece];
    const std::int64_t begin = slice.first + row.first,
                       end = std::min(begin + numerics::kTileFloats, slice.last);
    refuse_arrived(pieces_[row.piece].what + ", elements " + std::to_string(begin) + " to " +
                       std::to_string(end - 1),
                   row.sender, group);
  }
}

}  // namespace lockstep::lane
