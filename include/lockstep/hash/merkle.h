// A SHA-256 tree over bytes: the hash that binds, and that still tells where a difference is.
//
// The bytes are cut into blocks of 64 KiB (the last may be shorter). With || for concatenation:
//
//   leaf(block)   = SHA-256(0x00 || block)
//   node(l, r)    = SHA-256(0x01 || l || r)
//   root          = SHA-256(0x02 || u64 block size || u64 length || top)     little-endian
//
// `top` is the project's tree over the leaves: a single leaf is itself; n leaves split at the
// largest power of two below n, left part first. With no leaves (no bytes) `top` is absent. The
// prefixes keep leaves, nodes and roots apart; the length keeps one file from being a prefix of
// another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::hash {

inline constexpr std::size_t kBlockBytes = 64 * 1024;

constexpr std::uint64_t block_count(std::uint64_t length) {
  return length / kBlockBytes + (length % kBlockBytes != 0);
}

Digest block_digest(ByteView block);                          // leaf
Digest node_digest(const Digest& left, const Digest& right);  // node

// The root over `leaves` of `length` bytes in all; leaves.size() must be block_count(length).
Digest tree_root(std::span<const Digest> leaves, std::uint64_t length);

// `top` over at least one leaf. Over 2^k leaves, the first of them at a multiple of 2^k, it is a
// node of every larger tree; so the top over such nodes, in order, is the top over all leaves. (The
// last node may have fewer leaves.)
Digest tree_top(std::span<const Digest> leaves);
// The root over `top`, of `length` bytes, at least one.
Digest root_over(const Digest& top, std::uint64_t length);

// The leaves of a buffer.
std::vector<Digest> block_digests(ByteView bytes);

// tree_root(block_digests(bytes), bytes.size()).
Digest tree_digest(ByteView bytes);

}  // namespace lockstep::hash
