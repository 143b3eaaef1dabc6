// Messages of the exchange: floats of several tensors, and a leaf hash of each of their tiles, in
// the memory of the side that exchanges (side.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lane/side.h"
#include "lockstep/core/bytes.h"
#include "lockstep/numerics/sealed.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::lane {

class Parcel {
 public:
  // Of nothing.
  Parcel() = default;
  // sizes: floats of each piece; a piece begins at a tile of its tensor.
  Parcel(const Side& side, const std::vector<std::int64_t>& sizes);

  // All pieces, one after the other.
  float* floats() const { return data_; }
  std::int64_t count() const { return floats_; }
  float* piece(std::size_t i) const { return data_ + places_[i].floats; }
  // Of the tile that begins with float `first` of a piece.
  hash::Leaf* leaf(std::size_t piece, std::int64_t first) const;

  // body(piece, first float in it, count of floats) for every tile
  template <class Body>
  void tiles(Body&& body) const;

  ByteView bytes() const;
  MutableByteView writable_bytes() const;

 private:
  struct Place {
    std::int64_t size;            // floats of it
    std::int64_t floats, leaves;  // the first of them
  };

  std::vector<Place> places_;  // of the pieces
  std::int64_t floats_ = 0;
  Tensor held_;  // the leaves, which so are aligned, and the floats: its maker writes all of it
  hash::Leaf* leaves_ = nullptr;
  float* data_ = nullptr;
};

std::vector<ByteView> views(const std::vector<Parcel>& parcels);
std::vector<MutableByteView> writable_views(const std::vector<Parcel>& parcels);

template <class Body>
void Parcel::tiles(Body&& body) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    for (std::int64_t first = 0; first < places_[i].size; first += numerics::kTileFloats)
      body(i, first, std::min(numerics::kTileFloats, places_[i].size - first));
}

// Tiles that the device packs, sums or unpacks in one call (numerics/sealed.h).
struct SealedTiles {
  std::vector<numerics::SealedRow> rows;
  std::vector<numerics::SealedTile> tiles;

  // Copies every piece's floats from its pointer into a parcel.
  void pack(const std::vector<const float*>& pieces, const Parcel& to);
  // And out of one, tile by tile. `travelled`: its floats must have their leaves.
  void unpack(const Parcel& from, bool travelled, const std::vector<float*>& to);

  // What was asked so far: copies.
  void copy(const Side& side, float* broken) const;
};

// Throws Error(kDiffer): `what` is not what rank `sender` sent.
[[noreturn]] void refuse_arrived(const std::string& what, std::size_t sender,
                                 const comm::Group& group);

}  // namespace lockstep::lane
