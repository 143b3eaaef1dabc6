// The whole training state: an ordered list of named float32 tensors, and the cursor. What is not
// here (randomness, schedules, sample order) is a function of the recipe and the cursor.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/division.h"
#include "lockstep/core/ids.h"
#include "lockstep/hash/leaf.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::state {

struct Named {
  std::string name;   // "<role>/param/<path>", "<role>/buffer/<path>", "<role>/<slot>/<path>",
                      // "<role>/ema/<path>"
  at::Tensor tensor;  // float32, contiguous; shared with the module or optimiser that owns it
  // Where every rank holds only a slice of the tensor, whole tiles of it, and `tensor` is this
  // rank's, flat.
  struct Part {
    std::vector<std::int64_t> shape;  // of the whole
    Division division;
    Rank holder;  // of `tensor`
  };
  std::optional<Part> part = {};

  std::vector<std::int64_t> shape() const { return part ? part->shape : tensor.sizes().vec(); }
  std::int64_t first() const { return part ? part->division.slice(part->holder).first : 0; }
};

struct State {
  std::vector<Named> tensors;  // fixed order: the order of evidence and files
  Step step;                   // completed updates
  std::int64_t samples = 0;    // completed draws of the global stream: the data cursor

  std::int64_t bytes() const;  // held here
};

// Merkle tree of the state: root = SHA-256("lockstep state 0", step, samples, digests of the
// tensors), digest of a tensor = SHA-256(name, shape, its tiles' leaf hashes). Finds errors; does
// not bind a forger.
struct StateDigest {
  hash::Digest root;
  std::vector<hash::Digest> tensors;
  std::vector<std::vector<hash::Leaf>> leaves;
};
StateDigest digest(const State& state);  // of one that is held whole

// The same in two steps: leaf hashes of the tiles that are held here, the others' left zero; and,
// once all are known, the tree. A tensor that has leaves in `taken` (none, or a list for each
// tensor) keeps those and is not read.
using Leaves = std::vector<std::vector<hash::Leaf>>;
Leaves leaves(const State& state, Leaves taken = {});
StateDigest digest(const State& state, Leaves leaves);
// The root over these digests of tensors, with the cursor of `state`.
hash::Digest root(const State& state, const std::vector<hash::Digest>& tensors);
// The tiles of tensor `named` that are held here: [first, last).
std::pair<std::size_t, std::size_t> held_tiles(const Named& named);

// SHA-256 tree over the bytes of a state that is held whole: what signatures and claims rest on.
hash::Digest commit(const State& state);

// The first place where leaf hashes part: tensor, and elements [first, last) of its first differing
// tile.
struct Difference {
  std::string tensor;
  std::int64_t first = 0, last = 0;
};
// Both of states with the same names and shapes; nothing if equal.
std::optional<Difference> first_difference(const State& names, const Leaves& a, const Leaves& b);

// The first tensor with a NaN or infinity in what is held here: its number. `finite`, by number:
// those known to have none, which are not read; empty: none is known.
std::optional<std::size_t> first_non_finite(const State& state,
                                            const std::vector<bool>& finite = {});

}  // namespace lockstep::state
