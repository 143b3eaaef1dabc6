#include "lane/parcel.h"

#include <algorithm>
#include <cstring>

#include "lockstep/hash/leaf.h"
#include "lockstep/lane/partition.h"

namespace lockstep::lane {
namespace {

constexpr std::int64_t kTile = numerics::kTileFloats;
constexpr std::int64_t kLeafFloats = sizeof(hash::Leaf) / sizeof(float);
static_assert(kTile * sizeof(float) == hash::kTileBytes);

}  // namespace

Parcel::Parcel(const std::vector<std::int64_t>& sizes) {
  for (const std::int64_t size : sizes) {
    places_.push_back({size, floats_, 0});
    floats_ += size;
  }
  std::int64_t end = floats_;
  for (Place& place : places_) {
    place.leaves = end;
    end += tiles_in(place.size) * kLeafFloats;
  }
  size_ = static_cast<std::size_t>(end);
  data_ = std::make_unique_for_overwrite<float[]>(size_);
}

ByteView Parcel::tile(const Place& place, std::int64_t first) const {
  const auto count = static_cast<std::size_t>(std::min(kTile, place.size - first));
  return std::as_bytes(std::span(data_.get() + place.floats + first, count));
}

void Parcel::seal(std::size_t piece, std::int64_t first) {
  const Place& place = places_[piece];
  const hash::Leaf leaf = hash::leaf_hash(tile(place, first));
  std::memcpy(data_.get() + place.leaves + first / kTile * kLeafFloats, &leaf, sizeof leaf);
}

bool Parcel::intact(std::size_t piece, std::int64_t first) const {
  const Place& place = places_[piece];
  const hash::Leaf leaf = hash::leaf_hash(tile(place, first));
  const float* const sealed = data_.get() + place.leaves + first / kTile * kLeafFloats;
  return std::memcmp(sealed, &leaf, sizeof leaf) == 0;
}

void Parcel::seal() {
  tiles([&](std::size_t i, std::int64_t first, std::int64_t) { seal(i, first); });
}

void Parcel::fill(const std::vector<const float*>& pieces) {
  tiles([&](std::size_t i, std::int64_t first, std::int64_t count) {
    std::copy_n(pieces[i] + first, count, piece(i) + first);
    seal(i, first);
  });
}

bool Parcel::intact() const {
  bool all = true;
  tiles([&](std::size_t i, std::int64_t first, std::int64_t) { all = all && intact(i, first); });
  return all;
}

void refuse_arrived(const std::string& what, std::size_t sender, const comm::Group& group) {
  throw Error(Code::kDiffer,
              what + ": what arrived at rank " + std::to_string(group.rank().value) +
                  " is not what rank " + std::to_string(sender) + " sent",
              "memory of one of the two or the network between them changed it");
}

}  // namespace lockstep::lane
