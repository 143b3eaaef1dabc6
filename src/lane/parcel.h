// A message of the exchange: floats of several tensors, and a leaf hash of each of their tiles.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/bytes.h"

namespace lockstep::lane {

class Parcel {
 public:
  // sizes: floats of each piece; a piece begins at a tile of its tensor.
  explicit Parcel(std::vector<std::int64_t> sizes);

  // All pieces, one behind the other.
  float* floats() { return data_.get(); }
  const float* floats() const { return data_.get(); }
  std::int64_t count() const { return floats_; }

  // Writes the leaf hashes, behind the floats.
  void seal();
  // Takes every piece's floats from where it begins, and seals: each tile while it is near.
  void fill(const std::vector<const float*>& pieces);
  // The first tile whose floats are not what the leaf hash is of: piece, floats in it.
  struct Damage {
    std::size_t piece = 0;
    std::int64_t first = 0, last = 0;
  };
  std::optional<Damage> damage() const;

  ByteView bytes() const { return std::as_bytes(std::span(data_.get(), size_)); }
  MutableByteView bytes() { return std::as_writable_bytes(std::span(data_.get(), size_)); }

 private:
  // body(piece, first float in it, float count, its floats, its leaf hash's place)
  template <class Body>
  void tiles(Body&& body) const;

  std::vector<std::int64_t> sizes_;
  std::int64_t floats_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<float[]> data_;  // not cleared: whoever makes it writes all of it
};

// Throws Error(kDiffer): `what`, from rank `sender`, is not what it sent.
[[noreturn]] void refuse_arrived(const std::string& what, std::size_t sender,
                                 const comm::Group& group);

}  // namespace lockstep::lane
