#include "lockstep/lane/shards.h"

#include <algorithm>

#include "lane/shares.h"
#include "lockstep/core/error.h"
#include "lockstep/core/inject.h"

namespace lockstep::lane {
namespace {

Shares shares_of(const std::vector<Shard>& shards, int world) {
  std::vector<Shares::Piece> pieces;
  for (const Shard& shard : shards) pieces.push_back({shard.name, shard.turn, shard.floats});
  return Shares(std::move(pieces), world);
}

Parcel packed(const std::vector<Shard>& shards, const Shares& shares, Rank rank) {
  Parcel parcel = shares.parcel(rank, 1);
  std::vector<const float*> pieces;
  std::int64_t floats = 0;
  for (const Shard& shard : shards) {
    pieces.push_back(ops::read(shard.slice));
    floats += shard.slice.numel();
  }
  LOCKSTEP_ASSERT(floats == parcel.count());
  parcel.fill(pieces);
  return parcel;
}

std::vector<Tensor> wholes_of(const std::vector<Shard>& shards) {
  std::vector<Tensor> wholes;
  for (const Shard& shard : shards) wholes.push_back(shard.whole);
  return wholes;
}

}  // namespace

void all_gather(comm::Group& group, const std::vector<Shard>& shards) {
  const Shares shares = shares_of(shards, group.size());
  std::vector<Parcel> slices = shares.parcels();
  Parcel& own = slices[static_cast<std::size_t>(group.rank().value)];
  own = packed(shards, shares, group.rank());
  group.all_gather(own.bytes(), views(slices));
  shares.unpack(slices, group, wholes_of(shards));
}

void gather(comm::Group& group, Rank root, const std::vector<Shard>& shards) {
  const Shares shares = shares_of(shards, group.size());
  const Parcel mine = packed(shards, shares, group.rank());
  std::vector<Parcel> slices;
  if (group.rank() == root) slices = shares.parcels();
  std::vector<ByteView> to(static_cast<std::size_t>(group.size()));
  to[static_cast<std::size_t>(root.value)] = mine.bytes();
  std::vector<MutableByteView> from = views(slices);
  from.resize(to.size());
  group.all_to_all(to, from);
  shares.unpack(slices, group, wholes_of(shards));
}

std::vector<float> gather_sealed(comm::Group& group, const std::string& what,
                                 const std::vector<float>& mine,
                                 const std::vector<std::int64_t>& counts) {
  std::vector<Parcel> parcels;
  for (const std::int64_t count : counts) parcels.emplace_back(std::vector{count});
  Parcel own({static_cast<std::int64_t>(mine.size())});
  std::ranges::copy(mine, own.floats());
  own.seal();
  group.all_gather(own.bytes(), views(parcels));
  std::vector<float> all;
  for (std::size_t r = 0; r < parcels.size(); ++r) {
    LOCKSTEP_STRIKE(kStatistics, group, parcels[r].floats(), parcels[r].count());
    if (!parcels[r].intact()) refuse_arrived(what, r, group);
    all.insert(all.end(), parcels[r].floats(), parcels[r].floats() + parcels[r].count());
  }
  return all;
}

}  // namespace lockstep::lane
