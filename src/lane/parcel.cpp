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
  for (const std::int64_t size : sizes) {
    places_.push_back({size, floats_, 0});
    floats_ += size;
  }
  // Leaves are aligned to their size.
  std::int64_t end = (floats_ + kLeafFloats - 1) / kLeafFloats * kLeafFloats;
  for (Place& place : places_) {
    place.leaves = end;
    end += tiles_in(place.size) * kLeafFloats;
  }
  size_ = static_cast<std::size_t>(end);
  held_ = side.empty({end});
  data_ = held_.mutable_data_ptr<float>();
}

hash::Leaf* Parcel::leaf(std::size_t piece, std::int64_t first) const {
  return reinterpret_cast<hash::Leaf*>(data_ + places_[piece].leaves + first / kTile * kLeafFloats);
}

ByteView Parcel::bytes() const {
  return writable_bytes();
}

MutableByteView Parcel::writable_bytes() const {
  return std::as_writable_bytes(std::span(data_, size_));
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
