#include "lane/parcel.h"

#include "lockstep/core/error.h"
#include "lockstep/lane/partition.h"

namespace lockstep::lane {
namespace {

constexpr std::int64_t kTile = numerics::kTileFloats;
constexpr std::int64_t kLeafFloats = sizeof(hash::Leaf) / sizeof(float);
static_assert(kTile * sizeof(float) == hash::kTileBytes);

}  // namespace

Parcel::Parcel(const Side& side, const std::vector<std::int64_t>& sizes) {
  std::int64_t leaves = 0;
  for (const std::int64_t size : sizes) {
    places_.push_back({size, floats_, leaves});
    floats_ += size;
    leaves += tiles_in(size);
  }
  held_ = side.empty({leaves * kLeafFloats + floats_});
  leaves_ = reinterpret_cast<hash::Leaf*>(held_.mutable_data_ptr<float>());
  data_ = held_.mutable_data_ptr<float>() + leaves * kLeafFloats;
}

hash::Leaf* Parcel::leaf(std::size_t piece, std::int64_t first) const {
  return leaves_ + places_[piece].leaves + first / kTile;
}

ByteView Parcel::bytes() const {
  return writable_bytes();
}

MutableByteView Parcel::writable_bytes() const {
  if (!held_.defined()) return {};
  return {reinterpret_cast<std::byte*>(leaves_), held_.nbytes()};
}

std::vector<ByteView> views(const std::vector<Parcel>& parcels) {
  std::vector<ByteView> bytes;
  for (const Parcel& parcel : parcels) bytes.push_back(parcel.bytes());
  return bytes;
}

std::vector<MutableByteView> writable_views(const std::vector<Parcel>& parcels) {
  std::vector<MutableByteView> bytes;
  for (const Parcel& parcel : parcels) bytes.push_back(parcel.writable_bytes());
  return bytes;
}

void SealedTiles::pack(const std::vector<const float*>& pieces, const Parcel& to) {
  to.tiles([&](std::size_t i, std::int64_t first, std::int64_t count) {
    rows.push_back({pieces[i] + first, nullptr});
    tiles.push_back({to.piece(i) + first, count, to.leaf(i, first)});
  });
}

void SealedTiles::unpack(const Parcel& from, bool travelled, const std::vector<float*>& to) {
  from.tiles([&](std::size_t i, std::int64_t first, std::int64_t count) {
    rows.push_back({from.piece(i) + first, travelled ? from.leaf(i, first) : nullptr});
    tiles.push_back({to[i] + first, count, nullptr});
  });
}

void SealedTiles::copy(const Side& side, float* broken) const {
  const numerics::Subtree one{0, 1};
  side.device().sum_sealed(1, {&one, 1}, rows, tiles, broken);
}

void refuse_arrived(const std::string& what, std::size_t sender, const comm::Group& group) {
  throw Error(Code::kDiffer,
              what + ": what arrived at rank " + std::to_string(group.rank().value) +
                  " is not what rank " + std::to_string(sender) + " sent",
              "memory of one of the two or the network between them changed it");
}

}  // namespace lockstep::lane
