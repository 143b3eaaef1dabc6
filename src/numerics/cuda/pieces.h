// Private: bytes that lie in several places, and are joined on their way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "lockstep/core/bytes.h"

namespace lockstep::numerics::cuda {

inline std::size_t joined_size(std::span<const ByteView> pieces) {
  std::size_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  return bytes;
}

// Joined bytes that are there: what begin_to_host (update-inl.h) gives where nothing is under way.
struct Landed {
  Bytes there;
  const std::byte* wait() const { return there.data(); }
};

// Where the next of the joined bytes go.
class Parted {
 public:
  Parted(const std::vector<std::size_t>& sizes, std::span<void* const> to)
      : sizes_(sizes), to_(to) {}

  void put(const std::byte* from, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t some = std::min(bytes, sizes_[piece_] - filled_);
      if (some > 0) std::memcpy(static_cast<std::byte*>(to_[piece_]) + filled_, from, some);
      filled_ += some;
      from += some;
      bytes -= some;
      if (filled_ < sizes_[piece_]) return;
      ++piece_;
      filled_ = 0;
    }
  }

 private:
  const std::vector<std::size_t>& sizes_;
  const std::span<void* const> to_;
  std::size_t piece_ = 0, filled_ = 0;
};

}  // namespace lockstep::numerics::cuda
