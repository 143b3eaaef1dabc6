// The whole training state: an ordered list of named float32 tensors, and the cursor. What is not
// here (randomness, schedules, sample order) is a function of the recipe and the cursor.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/hash/leaf.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::state {

struct Named {
  std::string name;   // "<role>/param/<path>", "<role>/buffer/<path>", "<role>/<slot>/<path>",
                      // "<role>/ema/<path>"
  at::Tensor tensor;  // float32, contiguous; shared with the module or optimiser that owns it
};

struct State {
  std::vector<Named> tensors;  // fixed order: the order of evidence and files
  Step step;                   // completed updates
  std::int64_t samples = 0;    // completed draws of the global stream: the data cursor

  std::int64_t bytes() const;
};

// Merkle tree of the state: root = SHA-256("lockstep state 0", step, samples, digests of the
// tensors), digest of a tensor = SHA-256(name, shape, its tiles' leaf hashes). Finds errors; does
// not bind a forger.
struct StateDigest {
  hash::Digest root;
  std::vector<hash::Digest> tensors;
  std::vector<std::vector<hash::Leaf>> leaves;
};
StateDigest digest(const State& state);

// SHA-256 tree over the state's bytes: what signatures and claims rest on.
hash::Digest commit(const State& state);

// The first place where two digests part: tensor, and elements [first, last) of its first differing
// tile.
struct Difference {
  std::string tensor;
  std::int64_t first = 0, last = 0;
};
// Both of states with the same names and shapes; nothing if equal.
std::optional<Difference> first_difference(const State& names, const StateDigest& a,
                                           const StateDigest& b);

// The first tensor with a NaN or infinity: its name.
std::optional<std::string> first_non_finite(const State& state);

}  // namespace lockstep::state
