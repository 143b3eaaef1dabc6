#include "lane/shares.h"

#include <algorithm>

#include "lockstep/core/inject.h"

namespace lockstep::lane {

std::vector<Slice> Shares::of(Rank rank) const {
  std::vector<Slice> slices;
  for (const Piece& piece : pieces_)
    slices.push_back(slice_of(piece.turn, piece.floats, rank, world_));
  return slices;
}

Parcel Shares::parcel(Rank rank, std::size_t rows) const {
  std::vector<std::int64_t> sizes;
  for (std::size_t row = 0; row < rows; ++row)
    for (const Slice& slice : of(rank)) sizes.push_back(slice.size());
  return Parcel(std::move(sizes));
}

std::vector<Parcel> Shares::parcels() const {
  std::vector<Parcel> all;
  for (int r = 0; r < world_; ++r) all.push_back(parcel(Rank(r), 1));
  return all;
}

void Shares::require_intact(const Parcel& parcel, Rank owner, std::size_t sender,
                            const comm::Group& group) const {
  const auto damage = parcel.damage();
  if (!damage) return;
  const std::size_t piece = damage->piece % pieces_.size();
  const std::int64_t first = of(owner)[piece].first;
  refuse_arrived(pieces_[piece].what + ", elements " + std::to_string(first + damage->first) +
                     " to " + std::to_string(first + damage->last - 1),
                 sender, group);
}

void Shares::unpack(Parcel& parcel, Rank owner, const comm::Group& group,
                    const std::vector<Tensor>& wholes) const {
  if (owner != group.rank()) {
    LOCKSTEP_STRIKE(kGathered, group, parcel.floats(), parcel.count());
    require_intact(parcel, owner, static_cast<std::size_t>(owner.value), group);
  }
  const float* at = parcel.floats();
  const std::vector<Slice> slices = of(owner);
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    std::copy_n(at, slices[i].size(), wholes[i].mutable_data_ptr<float>() + slices[i].first);
    at += slices[i].size();
  }
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

void all_gather(const Shares& shares, Parcel mine, comm::Group& group,
                const std::vector<Tensor>& wholes) {
  std::vector<Parcel> slices = shares.parcels();
  Parcel& own = slices[static_cast<std::size_t>(group.rank().value)];
  own = std::move(mine);
  group.all_gather(own.bytes(), views(slices));
  for (std::size_t r = 0; r < slices.size(); ++r)
    shares.unpack(slices[r], Rank(static_cast<std::int64_t>(r)), group, wholes);
}

}  // namespace lockstep::lane
