// Gloo's own ring all-reduce, to measure ours against. A shared library of its own, opened in its
// own symbol scope (gloo_ring.cpp), as the transport is: LibTorch exports another Gloo.
#pragma once

#include <cstddef>

namespace lockstep {

class GlooRing {
 public:
  virtual ~GlooRing() = default;
  // Every rank's floats become the sum of all ranks' floats.
  virtual void all_reduce(float* floats, std::size_t count) = 0;
  virtual void barrier() = 0;
};

// Ranks meet by files in `folder`, over loopback; null: stderr says why.
using OpenGlooRing = GlooRing* (*)(int rank, int world, const char* folder);
inline constexpr const char* kOpenGlooRing = "lockstep_open_gloo_ring";

}  // namespace lockstep
