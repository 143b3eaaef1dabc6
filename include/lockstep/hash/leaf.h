// The leaf hash: 128 bits for each tile (16 KiB) of a tensor, cheap enough to be taken every step.
//
// It is the NH hash of UMAC (RFC 4418) on 32-bit little-endian words, twice, the second time with
// the keys shifted by four words (Toeplitz). For a tile x of n bytes, zero-padded to an even number
// of words, and with p running over its pairs of words:
//
//   a = n*c_a + sum_p ((x[2p] + k[2p])   mod 2^32) * ((x[2p+1] + k[2p+1]) mod 2^32)   mod 2^64
//   b = n*c_b + sum_p ((x[2p] + k[2p+4]) mod 2^32) * ((x[2p+1] + k[2p+5]) mod 2^32)   mod 2^64
//
// Sums of integers have no order, so any device may add the pairs as it likes.
//
// Keys: k[8i..8i+7] are the words of SHA-256("lockstep leaf keys 0" || u64 i), little-endian; c_a
// and c_b are the first two u64 of the digest after the last key's (i = 513), with the lowest bit
// set.
//
// What it finds: every change that stays inside one word (proof: the change of a product is delta
// times its other factor, |delta| < 2^32, which is zero only if that factor is, and it is not zero
// under both keys), and any other accidental change except with probability of about 2^-64.
// What it does not do: bind a forger. The keys are public; whoever wants a collision computes one.
// Claims and signatures rest on hash/merkle.h.
//
// A leaf knows the position of words within its tile, not the tile's place in the tensor: whoever
// makes a root of leaves hashes them in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lockstep/core/bytes.h"

namespace lockstep::hash {

inline constexpr std::size_t kTileBytes = 16 * 1024;  // 4096 words
inline constexpr std::size_t kTileWords = kTileBytes / 4;
inline constexpr std::size_t kLeafShift = 4;  // words between the keys of a and of b

struct Leaf {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  bool operator==(const Leaf&) const = default;
};

// Everything a second implementation (a GPU's) needs besides the formula.
struct LeafKeys {
  alignas(64) std::array<std::uint32_t, kTileWords + 8> words;  // the last four are unused
  std::uint64_t length_a;                                       // c_a
  std::uint64_t length_b;                                       // c_b
};
const LeafKeys& leaf_keys();

// Tiles of a tensor of `bytes` bytes; the last may be shorter.
constexpr std::size_t leaf_count(std::size_t bytes) {
  return (bytes + kTileBytes - 1) / kTileBytes;
}

// The leaf of one tile of at most kTileBytes bytes, at any alignment.
Leaf leaf_hash(ByteView tile);

// The same of a tile that comes in pieces, in order. All but the last have whole pairs of words: a
// multiple of 8 bytes.
class LeafSum {
 public:
  void add(ByteView piece);
  Leaf finish() const;

 private:
  Leaf sum_;
  std::size_t bytes_ = 0;
};

// The leaves of a tensor's tiles in order; out.size() must be leaf_count(tensor.size()).
// Different ranges of tiles may be hashed by different threads. About 30 GB/s a core with AVX2, 40
// with AVX-512.
void leaf_hashes(ByteView tensor, std::span<Leaf> out);

}  // namespace lockstep::hash
