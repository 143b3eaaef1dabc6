// A message of the exchange: floats of several tensors, and a leaf hash of each of their tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/bytes.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::lane {

class Parcel {
 public:
  // sizes: floats of each piece; a piece begins at a tile of its tensor.
  explicit Parcel(const std::vector<std::int64_t>& sizes);

  // All pieces, one after the other.
  float* floats() { return data_.get(); }
  const float* floats() const { return data_.get(); }
  std::int64_t count() const { return floats_; }
  float* piece(std::size_t i) { return data_.get() + places_[i].floats; }
  const float* piece(std::size_t i) const { return data_.get() + places_[i].floats; }

  // For the tile that begins with float `first` of a piece. seal: writes its leaf hash, after all
  // floats. intact: whether that leaf hash is the one of its floats.
  void seal(std::size_t piece, std::int64_t first);
  bool intact(std::size_t piece, std::int64_t first) const;
  // Seals all tiles.
  void seal();
  // Copies every piece's floats from its pointer and seals each tile while it is in cache.
  void fill(const std::vector<const float*>& pieces);
  bool intact() const;

  // body(piece, first float in it, count of floats) for every tile
  template <class Body>
  void tiles(Body&& body) const;

  ByteView bytes() const { return std::as_bytes(std::span(data_.get(), size_)); }
  MutableByteView bytes() { return std::as_writable_bytes(std::span(data_.get(), size_)); }

 private:
  struct Place {
    std::int64_t size;            // floats of it
    std::int64_t floats, leaves;  // where in data_ they are, and their leaf hashes
  };
  ByteView tile(const Place& place, std::int64_t first) const;

  std::vector<Place> places_;  // of the pieces
  std::int64_t floats_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<float[]> data_;  // not initialised: its maker writes all of it
};

template <class Body>
void Parcel::tiles(Body&& body) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    for (std::int64_t first = 0; first < places_[i].size; first += numerics::kTileFloats)
      body(i, first, std::min(numerics::kTileFloats, places_[i].size - first));
}

// Throws Error(kDiffer): `what` is not what rank `sender` sent.
[[noreturn]] void refuse_arrived(const std::string& what, std::size_t sender,
                                 const comm::Group& group);

}  // namespace lockstep::lane
