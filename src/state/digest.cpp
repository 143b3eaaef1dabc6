#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/numerics/elementwise.h"
#include "lockstep/numerics/parallel.h"
#include "lockstep/ops/bytes.h"
#include "lockstep/state/state.h"

namespace lockstep::state {
namespace {

// Name and shape: what stands before a tensor's content in every hash over it.
Bytes heading(const Named& named) {
  Bytes bytes;
  put_text(bytes, named.name);
  const std::vector<std::int64_t> shape = named.shape();
  put_u64_le(bytes, shape.size());
  for (const std::int64_t size : shape) put_u64_le(bytes, static_cast<std::uint64_t>(size));
  return bytes;
}

hash::Digest tensor_digest(const Named& named, const std::vector<hash::Leaf>& leaves) {
  Bytes bytes = heading(named);
  for (const hash::Leaf& leaf : leaves) {
    put_u64_le(bytes, leaf.a);
    put_u64_le(bytes, leaf.b);
  }
  return hash::sha256(bytes);
}

Bytes cursor_bytes(const char* title, const State& state) {
  Bytes bytes;
  put_text(bytes, title);
  put_u64_le(bytes, static_cast<std::uint64_t>(state.step.value));
  put_u64_le(bytes, static_cast<std::uint64_t>(state.samples));
  put_u64_le(bytes, state.tensors.size());
  return bytes;
}

void append(Bytes& bytes, const hash::Digest& digest) {
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
}

}  // namespace

std::int64_t State::bytes() const {
  std::int64_t total = 0;
  for (const Named& named : tensors)
    total += named.tensor.numel() * static_cast<std::int64_t>(sizeof(float));
  return total;
}

std::pair<std::size_t, std::size_t> held_tiles(const Named& named) {
  const auto first = static_cast<std::size_t>(named.first()) * sizeof(float) / hash::kTileBytes;
  return {first, first + hash::leaf_count(ops::bytes(named.tensor).size())};
}

Leaves leaves(const State& state) {
  Leaves result;
  // Tiles of all tensors in one line, so that threads share small tensors too.
  std::vector<std::pair<std::size_t, std::size_t>> tiles;  // tensor, tile
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const auto floats = static_cast<std::size_t>(c10::multiply_integers(state.tensors[i].shape()));
    result.emplace_back(hash::leaf_count(floats * sizeof(float)));
    const auto [first, last] = held_tiles(state.tensors[i]);
    for (std::size_t tile = first; tile < last; ++tile) tiles.emplace_back(i, tile);
  }
  numerics::parallel_for(
      static_cast<std::int64_t>(tiles.size()), 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
          const auto [i, tile] = tiles[static_cast<std::size_t>(at)];
          const ByteView held = ops::bytes(state.tensors[i].tensor);
          const std::size_t first = (tile - held_tiles(state.tensors[i]).first) * hash::kTileBytes;
          result[i][tile] =
              hash::leaf_hash(held.subspan(first, std::min(hash::kTileBytes, held.size() - first)));
        }
      });
  return result;
}

StateDigest digest(const State& state, Leaves leaves) {
  StateDigest result;
  Bytes root = cursor_bytes("lockstep state 0", state);
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    result.tensors.push_back(tensor_digest(state.tensors[i], leaves[i]));
    append(root, result.tensors.back());
  }
  result.root = hash::sha256(root);
  result.leaves = std::move(leaves);
  return result;
}

StateDigest digest(const State& state) {
  for (const Named& named : state.tensors) LOCKSTEP_ASSERT(!named.part, named.name);
  return digest(state, leaves(state));
}

hash::Digest commit(const State& state) {
  Bytes root = cursor_bytes("lockstep commit 0", state);
  for (const Named& named : state.tensors) {
    LOCKSTEP_ASSERT(!named.part, named.name);
    const Bytes head = heading(named);
    append(root, hash::sha256(head));
    append(root, hash::tree_digest(ops::bytes(named.tensor)));
  }
  return hash::sha256(root);
}

std::optional<Difference> first_difference(const State& names, const StateDigest& a,
                                           const StateDigest& b) {
  for (std::size_t i = 0; i < names.tensors.size(); ++i) {
    if (a.tensors[i] == b.tensors[i]) continue;
    const auto& left = a.leaves[i];
    const auto tile =
        std::mismatch(left.begin(), left.end(), b.leaves[i].begin()).first - left.begin();
    const auto floats = static_cast<std::int64_t>(hash::kTileBytes / sizeof(float));
    const std::int64_t first = tile * floats;
    return Difference{names.tensors[i].name, first,
                      std::min(first + floats, c10::multiply_integers(names.tensors[i].shape()))};
  }
  return std::nullopt;
}

std::optional<std::size_t> first_non_finite(const State& state) {
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const at::Tensor& held = state.tensors[i].tensor;
    if (!numerics::all_finite(held.numel(), ops::read(held))) return i;
  }
  return std::nullopt;
}

}  // namespace lockstep::state
