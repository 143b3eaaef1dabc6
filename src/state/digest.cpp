#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/ops/device.h"
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

// Where its values lie on its device.
std::span<const float> floats_of(const Named& named) {
  return {named.tensor.const_data_ptr<float>(), static_cast<std::size_t>(named.tensor.numel())};
}

// All tensors of a state lie on one.
numerics::Device& device_of(const State& state) {
  const auto held = std::ranges::find_if(state.tensors,
                                         [](const Named& named) { return named.tensor.defined(); });
  return ops::device_of(held->tensor);
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
  return {first,
          first + hash::leaf_count(static_cast<std::size_t>(named.tensor.numel()) * sizeof(float))};
}

Leaves leaves(const State& state) {
  Leaves result;
  // Tiles of all tensors in one line, so that threads share small tensors too.
  std::vector<ByteView> tiles;
  for (const Named& named : state.tensors) {
    const auto floats = static_cast<std::size_t>(c10::multiply_integers(named.shape()));
    result.emplace_back(hash::leaf_count(floats * sizeof(float)));
    if (!named.tensor.defined()) continue;
    const ByteView held = std::as_bytes(floats_of(named));
    for (std::size_t at = 0; at < held.size(); at += hash::kTileBytes)
      tiles.push_back(held.subspan(at, std::min(hash::kTileBytes, held.size() - at)));
  }
  std::vector<hash::Leaf> hashes(tiles.size());
  if (!tiles.empty()) device_of(state).leaf_hashes(tiles, hashes.data());
  auto next = hashes.begin();
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    if (!state.tensors[i].tensor.defined()) continue;
    const auto [first, last] = held_tiles(state.tensors[i]);
    for (std::size_t tile = first; tile < last; ++tile) result[i][tile] = *next++;
  }
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
    append(root, hash::tree_digest(ops::HostView(named.tensor).bytes()));
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
  std::vector<std::span<const float>> tensors;
  for (const Named& named : state.tensors) tensors.push_back(floats_of(named));
  const std::size_t first = tensors.empty() ? 0 : device_of(state).first_non_finite(tensors);
  if (first == tensors.size()) return std::nullopt;
  return first;
}

}  // namespace lockstep::state
