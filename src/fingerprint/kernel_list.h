// The self-test's kernels, in the order of their hashes.
#pragma once

#include <functional>
#include <vector>

#include "lockstep/hash/sha256.h"

namespace lockstep::fingerprint {

struct Kernel {
  const char* name;
  std::function<hash::Digest()> run;
  bool product = false;  // native numerics has one by LibTorch, in the run's precision
};

// Layers, losses and products, forward and backward.
std::vector<Kernel> layer_kernels();
// What a step asks of the device beside them: draws, statistics, sums, updates, hashes.
std::vector<Kernel> step_kernels();

}  // namespace lockstep::fingerprint
