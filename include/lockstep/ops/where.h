// Where a thread is: whose code runs, forward or backward. One notion for everything that names an
// op: the guard's messages, per-op digests.
#pragma once

#include <string>

namespace lockstep::ops {

enum class Pass {
  kForward,   // code that is called as written
  kBackward,  // inside the backward function of an op
  kEngine     // LibTorch's autograd engine, between backward functions
};

struct Where {
  Pass pass = Pass::kForward;
  // Role and path, as parameters are named: "model/down0.block1.residual.conv1";
  // "objective/denoise" in a loss. Backward: of the forward code that recorded the op. Empty:
  // nobody has said.
  std::string module;
  // Forward: the last op of this module's own code. Backward: the op whose gradient is computed.
  // Engine: the op whose gradient was computed last. May be empty.
  std::string op;
};

// This thread's.
const Where& where();

// "model/hidden, after linear"; "model/hidden, backward of linear".
std::string to_text(const Where& where);

// While it lives, this thread runs code of `module`.
class Scope {
 public:
  explicit Scope(std::string module);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Where outer_;
};

}  // namespace lockstep::ops
