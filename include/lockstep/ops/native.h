// Native numerics: products call LibTorch's kernels in place of ours.
//
// LibTorch's bits depend on shapes, alignment and threads, and on the machine. The first three are
// fixed here: a kernel sees the samples of one lane (in sampling: one sample), each time with the
// same shapes, in memory aligned to 64 bytes (a GPU's to 256), in one thread; lanes go to the
// rank's threads. So the bits depend on recipe, hardware and software, and not on the number of
// ranks or threads. On a GPU its kernels work in the memory of our tensors, in the same stream;
// where LibTorch lacks memory there, an op throws std::bad_alloc.
//
// Native: linear, conv2d and its transpose, attention, with all their gradients. Everything else is
// ours in either numerics, and there it is the faster: norms, activations, sums over lanes,
// statistics, losses, element-wise arithmetic, spectral norm, optimisers. The guard (guard.h)
// watches for LibTorch's arithmetic outside of these kernels.
//
// They may have another precision (numerics.h). Tensors stay binary32 between ops: in bfloat16
// operands are rounded where an op takes them, and results widened where a kernel gives them.
#pragma once

#include "lockstep/ops/numerics.h"

namespace lockstep::ops {

// Before the first native kernel of the process, once, where kernels will run: LibTorch's own
// settings (deterministic algorithms, no benchmarking of kernels, full binary32 or on a GPU TF32,
// uninitialised memory left alone or, by `fill`, full of NaNs), and for a GPU its libraries for
// CUDA. What the environment must say is fingerprint/settings.h's. Error(kEnvironment): this
// LibTorch has none for CUDA.
void prepare_native(Precision precision, bool fill = false);

}  // namespace lockstep::ops
