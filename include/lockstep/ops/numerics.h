// Which arithmetic ops use. A recipe decides it, for a whole run.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep::ops {

// What native products multiply: linear layers, convolutions and attention, and their gradients.
enum class Precision : std::uint8_t {
  kFloat32,
  kTf32,     // on a GPU: operands that its tensor cores round to 10 bits of fraction
  kBfloat16  // operands and results rounded to 7 bits of fraction; sums inside in binary32
};
// As recipes call them, in this order.
inline constexpr std::array<std::string_view, 3> kPrecisions = {"float32", "tf32", "bfloat16"};

struct Numerics {
  bool native = false;       // LibTorch's kernels (native.h)
  std::int64_t samples = 1;  // that a native kernel sees at a time; divides those of every op
  bool integer = false;      // products of layers that are wide enough (numerics/integer.h)
  // What is recorded may be differentiated twice. Products then keep their operands beside the
  // rounded ones.
  bool twice = false;
  Precision precision = Precision::kFloat32;  // of native products
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
