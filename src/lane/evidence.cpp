#include "lockstep/lane/evidence.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::lane {

hash::Digest LaneEvidence::digest() const {
  Bytes bytes;
  for (const hash::Leaf& leaf : leaves()) {
    put_u64_le(bytes, leaf.a);
    put_u64_le(bytes, leaf.b);
  }
  return hash::sha256(bytes);
}

std::vector<hash::Leaf> LaneEvidence::leaves() const {
  std::vector<hash::Leaf> all;
  for (const Part& part : parts) all.insert(all.end(), part.leaves.begin(), part.leaves.end());
  return all;
}

std::string place_of(const LaneEvidence& evidence, std::size_t leaf) {
  for (const LaneEvidence::Part& part : evidence.parts) {
    if (leaf < part.leaves.size()) {
      const auto tile = static_cast<std::int64_t>(hash::kTileWords);
      const std::int64_t first = static_cast<std::int64_t>(leaf) * tile;
      return part.name + ", elements " + std::to_string(first) + " to " +
             std::to_string(std::min(first + tile, part.floats) - 1);
    }
    leaf -= part.leaves.size();
  }
  throw Error(Code::kBug, "a leaf that no part has");
}

}  // namespace lockstep::lane
