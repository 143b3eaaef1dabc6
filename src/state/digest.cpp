#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/ops/device.h"
#include "lockstep/state/state.h"

namespace lockstep::state {
namespace {

// Name and shape: what stands before a tensor's content in every hash over it.
void put_heading(Bytes& bytes, const Named& named) {
  put_text(bytes, named.name);
  const at::IntArrayRef shape =
      named.part ? at::IntArrayRef(named.part->shape) : named.tensor.sizes();
  put_u64_le(bytes, shape.size());
  for (const std::int64_t size : shape) put_u64_le(bytes, static_cast<std::uint64_t>(size));
}

// Digests of tensors, one after another. Tensors are many, and most are small: the context and the
// buffer are made once.
class TensorDigests {
 public:
  hash::Digest operator()(const Named& named, const std::vector<hash::Leaf>& leaves) {
    bytes_.clear();
    put_heading(bytes_, named);
    for (const hash::Leaf& leaf : leaves) {
      put_u64_le(bytes_, leaf.a);
      put_u64_le(bytes_, leaf.b);
    }
    return hash_.update(bytes_).finish();
  }

 private:
  hash::Sha256 hash_;
  Bytes bytes_;
};

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
  return ops::device_of(state.tensors.front().tensor);
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

Leaves leaves(const State& state, Leaves taken) {
  LOCKSTEP_ASSERT(taken.empty() || taken.size() == state.tensors.size());
  Leaves result = std::move(taken);
  result.resize(state.tensors.size());
  // Tiles of all tensors in one line, so that threads share small tensors too.
  std::vector<ByteView> tiles;
  std::vector<std::size_t> read;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    if (!result[i].empty()) continue;
    const Named& named = state.tensors[i];
    const auto floats = static_cast<std::size_t>(c10::multiply_integers(named.shape()));
    result[i].resize(hash::leaf_count(floats * sizeof(float)));
    const ByteView held = std::as_bytes(floats_of(named));
    for (std::size_t at = 0; at < held.size(); at += hash::kTileBytes)
      tiles.push_back(held.subspan(at, std::min(hash::kTileBytes, held.size() - at)));
    read.push_back(i);
  }
  std::vector<hash::Leaf> hashes(tiles.size());
  if (!tiles.empty()) device_of(state).leaf_hashes(tiles, hashes.data());
  auto next = hashes.begin();
  for (const std::size_t i : read) {
    const auto [first, last] = held_tiles(state.tensors[i]);
    for (std::size_t tile = first; tile < last; ++tile) result[i][tile] = *next++;
  }
  return result;
}

StateDigest digest(const State& state, Leaves leaves) {
  StateDigest result;
  result.tensors.resize(state.tensors.size());
  const auto some = [&](std::int64_t begin, std::int64_t end) {
    TensorDigests digest_of;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      result.tensors[i] = digest_of(state.tensors[i], leaves[i]);
  };
  constexpr std::int64_t kGrain = 64;  // tensors worth a thread
  ops::device().parallel_for(std::ssize(state.tensors), kGrain, some);
  result.root = root(state, result.tensors);
  result.leaves = std::move(leaves);
  return result;
}

hash::Digest root(const State& state, const std::vector<hash::Digest>& tensors) {
  Bytes bytes = cursor_bytes("lockstep state 0", state);
  for (const hash::Digest& digest : tensors) append(bytes, digest);
  return hash::sha256(bytes);
}

StateDigest digest(const State& state) {
  for (const Named& named : state.tensors) LOCKSTEP_ASSERT(!named.part, named.name);
  return digest(state, leaves(state));
}

hash::Digest commit(const State& state) {
  Bytes root = cursor_bytes("lockstep commit 0", state);
  for (const Named& named : state.tensors) {
    LOCKSTEP_ASSERT(!named.part, named.name);
    Bytes head;
    put_heading(head, named);
    append(root, hash::sha256(head));
    append(root, hash::tree_digest(ops::HostView(named.tensor).bytes()));
  }
  return hash::sha256(root);
}

std::optional<Difference> first_difference(const State& names, const Leaves& a, const Leaves& b) {
  for (std::size_t i = 0; i < names.tensors.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto tile = std::ranges::mismatch(a[i], b[i]).in1 - a[i].begin();
    const auto floats = static_cast<std::int64_t>(hash::kTileBytes / sizeof(float));
    const std::int64_t first = tile * floats;
    return Difference{names.tensors[i].name, first,
                      std::min(first + floats, c10::multiply_integers(names.tensors[i].shape()))};
  }
  return std::nullopt;
}

std::optional<std::size_t> first_non_finite(const State& state, const std::vector<bool>& finite) {
  std::vector<std::span<const float>> tensors;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    if (!finite.empty() && finite[i]) continue;
    tensors.push_back(floats_of(state.tensors[i]));
    numbers.push_back(i);
  }
  if (tensors.empty()) return std::nullopt;
  const std::size_t first = device_of(state).first_non_finite(tensors);
  if (first == tensors.size()) return std::nullopt;
  return numbers[first];
}

}  // namespace lockstep::state
