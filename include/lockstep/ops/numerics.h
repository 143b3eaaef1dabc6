// Which arithmetic ops use. A recipe decides it, for a whole run.
#pragma once

#include <cstdint>

namespace lockstep::ops {

struct Numerics {
  bool native = false;       // LibTorch's kernels (native.h)
  std::int64_t samples = 1;  // that a native kernel sees at a time; divides those of every op
  bool integer = false;      // products of layers that are wide enough (numerics/integer.h)
  // What is recorded may be differentiated twice. Integer products then keep their operands beside
  // the rounded ones.
  bool twice = false;
};

// What ops called from this thread use: portable floats, unless a scope says otherwise.
const Numerics& numerics_in_use();

class NumericsScope {
 public:
  explicit NumericsScope(const Numerics& numerics);
  ~NumericsScope();
  NumericsScope(const NumericsScope&) = delete;
  NumericsScope& operator=(const NumericsScope&) = delete;

 private:
  const Numerics outer_;
};

// While it lives, what this thread records may be differentiated twice: for the forward pass under
// a gradient penalty. Error(kBug) in the backward pass where it was missing.
class TwiceScope {
 public:
  TwiceScope() : scope_(twice()) {}

 private:
  static Numerics twice() {
    Numerics numerics = numerics_in_use();
    numerics.twice = true;
    return numerics;
  }
  const NumericsScope scope_;
};

}  // namespace lockstep::ops
