// Fixed inputs of the self-test's kernels, and the hash of what they give.
#pragma once

#include <initializer_list>

#include "lockstep/hash/sha256.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"

namespace lockstep::fingerprint {

using at::Tensor;

constexpr std::int64_t kEach = 3;  // samples of a lane

// Three lanes of three samples: a tree with a lone sibling.
inline const ops::LaneBlocks& lanes() {
  static const ops::LaneBlocks blocks{kEach, {3}};
  return blocks;
}

// Normals of a stream of their own a key.
Tensor normals(std::uint32_t key, at::IntArrayRef sizes);

class Hasher {
 public:
  void add(const Tensor& tensor);  // nothing of an undefined one
  void add(ByteView bytes) { hash_.update(bytes); }
  hash::Digest finish() { return hash_.finish(); }

 private:
  hash::Sha256 hash_;
};

hash::Digest hash_of(std::initializer_list<Tensor> tensors);

}  // namespace lockstep::fingerprint
