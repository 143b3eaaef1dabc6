#include "lockstep/lane/slices.h"

#include <algorithm>

#include "lane/parcel_layout.h"
#include "lockstep/core/error.h"
#include "lockstep/lane/inject.h"
#include "lockstep/ops/device.h"

namespace lockstep::lane {
namespace {

ParcelLayout layout_of(const std::vector<SlicedTensor>& tensors) {
  std::vector<ParcelLayout::Piece> pieces;
  for (const SlicedTensor& one : tensors) pieces.push_back({one.name, one.division});
  return ParcelLayout(std::move(pieces));
}

Parcel packed(const Side& side, const std::vector<SlicedTensor>& tensors,
              const ParcelLayout& layout, Rank rank) {
  Parcel parcel = layout.parcel(side, rank, 1);
  std::vector<Tensor> slices;
  std::vector<const float*> pieces;
  std::int64_t floats = 0;
  for (const SlicedTensor& one : tensors) {
    slices.push_back(one.slice);
    floats += one.slice.numel();
  }
  LOCKSTEP_ASSERT(floats == parcel.count());
  slices = side.bring(slices);
  for (const Tensor& slice : slices) pieces.push_back(slice.const_data_ptr<float>());
  SealedTiles copies;
  copies.pack(pieces, parcel);
  copies.copy(side, nullptr);
  return parcel;
}

void unpack(const Side& side, const ParcelLayout& layout, const std::vector<Parcel>& slices,
            const comm::Group& group, const std::vector<SlicedTensor>& tensors) {
  std::vector<Tensor> wholes;
  for (const SlicedTensor& one : tensors) wholes.push_back(one.whole);
  const StandIns here(side, wholes);
  const Arrived arrived = layout.unpack(side, slices, group, here.tensors());
  layout.require_intact(side, {&arrived}, group);
  here.bring_back();
}

}  // namespace

void all_gather(comm::Group& group, const std::vector<SlicedTensor>& tensors) {
  const Side side(group);
  const ParcelLayout layout = layout_of(tensors);
  std::vector<Parcel> slices = layout.parcels(side);
  Parcel& own = slices[static_cast<std::size_t>(group.rank().value)];
  own = packed(side, tensors, layout, group.rank());
  side.settle();
  group.all_gather(own.bytes(), writable_views(slices), side.memory());
  unpack(side, layout, slices, group, tensors);
}

void gather(comm::Group& group, Rank root, const std::vector<SlicedTensor>& tensors) {
  const Side side(group);
  const ParcelLayout layout = layout_of(tensors);
  const Parcel mine = packed(side, tensors, layout, group.rank());
  const auto at_root = static_cast<std::size_t>(root.value);
  std::vector<ByteView> to(static_cast<std::size_t>(group.size()));
  std::vector<MutableByteView> from(to.size());
  if (group.rank() != root) {
    to[at_root] = mine.bytes();
    side.settle();
    group.all_to_all(to, from, side.memory());
    return;
  }
  std::vector<Parcel> slices = layout.parcels(side);
  slices[at_root] = mine;
  from = writable_views(slices);
  from[at_root] = {};
  side.settle();
  group.all_to_all(to, from, side.memory());
  unpack(side, layout, slices, group, tensors);
}

std::vector<std::vector<float>> gather_sealed(comm::Group& group, const std::string& what,
                                              std::span<const float> mine,
                                              const std::vector<std::size_t>& counts) {
  const Side host = Side::host();
  std::vector<Parcel> parcels;
  for (const std::size_t count : counts)
    parcels.emplace_back(host, std::vector{static_cast<std::int64_t>(count)});
  const Parcel own(host, {static_cast<std::int64_t>(mine.size())});
  SealedTiles leaving;
  leaving.pack({mine.data()}, own);
  leaving.copy(host, nullptr);
  group.all_gather(own.bytes(), writable_views(parcels));
  std::vector<std::vector<float>> all;
  for (std::size_t r = 0; r < parcels.size(); ++r) {
    LOCKSTEP_STRIKE(kStatistics, group, parcels[r].floats(), parcels[r].count());
    std::vector<float>& theirs = all.emplace_back(counts[r]);
    SealedTiles arrived;
    arrived.unpack(parcels[r], /*travelled=*/true, {theirs.data()});
    std::vector<float> broken(arrived.rows.size());
    arrived.copy(host, broken.data());
    if (std::ranges::count(broken, 0.0F) != std::ssize(broken)) refuse_arrived(what, r, group);
  }
  return all;
}

}  // namespace lockstep::lane
