#include "lockstep/lane/slices.h"

#include <algorithm>

#include "lane/parcel_layout.h"
#include "lockstep/core/error.h"
#include "lockstep/core/inject.h"
#include "lockstep/ops/device.h"

namespace lockstep::lane {
namespace {

ParcelLayout layout_of(const std::vector<SlicedTensor>& tensors) {
  std::vector<ParcelLayout::Piece> pieces;
  for (const SlicedTensor& one : tensors) pieces.push_back({one.name, one.division});
  return ParcelLayout(std::move(pieces));
}

Parcel packed(const std::vector<SlicedTensor>& tensors, const ParcelLayout& layout, Rank rank) {
  Parcel parcel = layout.parcel(rank, 1);
  std::vector<ops::HostView> views;
  std::vector<const float*> pieces;
  std::int64_t floats = 0;
  views.reserve(tensors.size());
  for (const SlicedTensor& one : tensors) {
    pieces.push_back(views.emplace_back(one.slice).floats().data());
    floats += one.slice.numel();
  }
  LOCKSTEP_ASSERT(floats == parcel.count());
  parcel.fill(pieces);
  return parcel;
}

std::vector<Tensor> wholes_of(const std::vector<SlicedTensor>& tensors) {
  std::vector<Tensor> wholes;
  for (const SlicedTensor& one : tensors) wholes.push_back(one.whole);
  return wholes;
}

}  // namespace

void all_gather(comm::Group& group, const std::vector<SlicedTensor>& tensors) {
  const ParcelLayout layout = layout_of(tensors);
  std::vector<Parcel> slices = layout.parcels();
  Parcel& own = slices[static_cast<std::size_t>(group.rank().value)];
  own = packed(tensors, layout, group.rank());
  group.all_gather(own.bytes(), views(slices));
  layout.unpack(slices, group, wholes_of(tensors));
}

void gather(comm::Group& group, Rank root, const std::vector<SlicedTensor>& tensors) {
  const ParcelLayout layout = layout_of(tensors);
  const Parcel mine = packed(tensors, layout, group.rank());
  std::vector<Parcel> slices;
  if (group.rank() == root) slices = layout.parcels();
  std::vector<ByteView> to(static_cast<std::size_t>(group.size()));
  to[static_cast<std::size_t>(root.value)] = mine.bytes();
  std::vector<MutableByteView> from = views(slices);
  from.resize(to.size());
  group.all_to_all(to, from);
  layout.unpack(slices, group, wholes_of(tensors));
}

std::vector<std::vector<float>> gather_sealed(comm::Group& group, const std::string& what,
                                              const std::vector<float>& mine,
                                              const std::vector<std::size_t>& counts) {
  std::vector<Parcel> parcels;
  for (const std::size_t count : counts)
    parcels.emplace_back(std::vector{static_cast<std::int64_t>(count)});
  Parcel own({static_cast<std::int64_t>(mine.size())});
  std::ranges::copy(mine, own.floats());
  own.seal();
  group.all_gather(own.bytes(), views(parcels));
  std::vector<std::vector<float>> all;
  for (std::size_t r = 0; r < parcels.size(); ++r) {
    LOCKSTEP_STRIKE(kStatistics, group, parcels[r].floats(), parcels[r].count());
    if (!parcels[r].intact()) refuse_arrived(what, r, group);
    all.emplace_back(parcels[r].floats(), parcels[r].floats() + parcels[r].count());
  }
  return all;
}

}  // namespace lockstep::lane
