#include "lane/parcel_layout.h"

#include <algorithm>

#include "lockstep/core/inject.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::lane {

std::vector<Slice> ParcelLayout::of(Rank rank) const {
  std::vector<Slice> slices;
  for (const Piece& piece : pieces_) slices.push_back(piece.division.slice(rank));
  return slices;
}

Parcel ParcelLayout::parcel(Rank rank, std::size_t rows) const {
  std::vector<std::int64_t> sizes;
  for (std::size_t row = 0; row < rows; ++row)
    for (const Slice& slice : of(rank)) sizes.push_back(slice.size());
  return Parcel(sizes);
}

std::vector<Parcel> ParcelLayout::parcels() const {
  std::vector<Parcel> all;
  for (int r = 0; r < pieces_.front().division.world(); ++r) all.push_back(parcel(Rank(r), 1));
  return all;
}

void ParcelLayout::require_intact(const Parcel& parcel, std::size_t piece, std::int64_t first,
                                  Rank owner, std::size_t sender, const comm::Group& group) const {
  if (parcel.intact(piece, first)) return;
  const std::size_t i = piece % pieces_.size();
  const Slice slice = of(owner)[i];
  const std::int64_t begin = slice.first + first,
                     end = std::min(begin + numerics::kTileFloats, slice.last);
  refuse_arrived(
      pieces_[i].what + ", elements " + std::to_string(begin) + " to " + std::to_string(end - 1),
      sender, group);
}

void ParcelLayout::unpack(Parcel& parcel, Rank owner, const comm::Group& group,
                          const std::vector<Tensor>& wholes) const {
  const bool travelled = owner != group.rank();
  if (travelled) LOCKSTEP_STRIKE(kGathered, group, parcel.floats(), parcel.count());
  const std::vector<Slice> slices = of(owner);
  std::vector<float*> to;
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    Tensor whole = wholes[i];
    to.push_back(ops::write(whole) + slices[i].first);
  }
  parcel.tiles([&](std::size_t i, std::int64_t first, std::int64_t count) {
    if (travelled)
      require_intact(parcel, i, first, owner, static_cast<std::size_t>(owner.value), group);
    ops::device().from_host(static_cast<std::size_t>(count) * sizeof(float),
                            parcel.piece(i) + first, to[i] + first);
  });
}

void ParcelLayout::unpack(std::vector<Parcel>& parcels, const comm::Group& group,
                          const std::vector<Tensor>& wholes) const {
  for (std::size_t r = 0; r < parcels.size(); ++r)
    unpack(parcels[r], Rank(static_cast<std::int64_t>(r)), group, wholes);
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

}  // namespace lockstep::lane
