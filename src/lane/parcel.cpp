#include "lane/parcel.h"

#include <algorithm>
#include <cstring>

#include "lockstep/hash/leaf.h"
#include "lockstep/numerics/reduce.h"

namespace lockstep::lane {
namespace {

constexpr std::int64_t kTile = numerics::kTileFloats;
constexpr std::int64_t kLeafFloats = sizeof(hash::Leaf) / sizeof(float);
static_assert(kTile * sizeof(float) == hash::kTileBytes);

hash::Leaf leaf_of(const float* floats, std::int64_t count) {
  return hash::leaf_hash(std::as_bytes(std::span(floats, static_cast<std::size_t>(count))));
}

}  // namespace

Parcel::Parcel(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
  std::int64_t leaves = 0;
  for (const std::int64_t size : sizes_) {
    floats_ += size;
    leaves += (size + kTile - 1) / kTile;
  }
  size_ = static_cast<std::size_t>(floats_ + leaves * kLeafFloats);
  data_ = std::make_unique_for_overwrite<float[]>(size_);
}

template <class Body>
void Parcel::tiles(Body&& body) const {
  std::int64_t at = 0, leaf = floats_;
  for (std::size_t piece = 0; piece < sizes_.size(); ++piece) {
    for (std::int64_t first = 0; first < sizes_[piece]; first += kTile, leaf += kLeafFloats) {
      const std::int64_t count = std::min(kTile, sizes_[piece] - first);
      if (!body(piece, first, count, at + first, leaf)) return;
    }
    at += sizes_[piece];
  }
}

void Parcel::seal() {
  tiles([&](std::size_t, std::int64_t, std::int64_t count, std::int64_t at, std::int64_t place) {
    const hash::Leaf leaf = leaf_of(floats() + at, count);
    std::memcpy(floats() + place, &leaf, sizeof leaf);
    return true;
  });
}

void Parcel::fill(const std::vector<const float*>& pieces) {
  tiles([&](std::size_t piece, std::int64_t first, std::int64_t count, std::int64_t at,
            std::int64_t place) {
    std::copy_n(pieces[piece] + first, count, floats() + at);
    const hash::Leaf leaf = leaf_of(floats() + at, count);
    std::memcpy(floats() + place, &leaf, sizeof leaf);
    return true;
  });
}

std::optional<Parcel::Damage> Parcel::damage() const {
  std::optional<Damage> found;
  tiles([&](std::size_t piece, std::int64_t first, std::int64_t count, std::int64_t at,
            std::int64_t place) {
    const hash::Leaf leaf = leaf_of(floats() + at, count);
    if (std::memcmp(floats() + place, &leaf, sizeof leaf) != 0)
      found = Damage{piece, first, first + count};
    return !found;
  });
  return found;
}

void refuse_arrived(const std::string& what, std::size_t sender, const comm::Group& group) {
  throw Error(Code::kDiffer,
              what + ": what arrived at rank " + std::to_string(group.rank().value) +
                  " is not what rank " + std::to_string(sender) + " sent",
              "memory of one of the two or the network between them changed it");
}

}  // namespace lockstep::lane
