// TorchScript networks of other programs, computed by LibTorch: bits of this machine and its
// libraries, never of a recipe.
//
// A TorchScript file is a program. LibTorch parses and runs it; nothing of it is checked before.
#pragma once

#include <memory>
#include <string>

#include "lockstep/core/bytes.h"
#include "lockstep/ops/record.h"

namespace lockstep::ops {

class Script {
 public:
  // The bytes of what torch.jit.save wrote; `name` stands for the file. Error(kUsage) with
  // LibTorch's reason if it is none.
  Script(ByteView file, std::string name);
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // Pictures [N, H, W, C] are given as PyTorch has them, [N, C, H, W], in one call without
  // gradients; -> [N, all that it gives for a sample]. Error(kUsage) where it fails or gives no
  // tensor of N samples of floats.
  Tensor operator()(const Tensor& pictures);

 private:
  struct Module;
  std::unique_ptr<Module> module_;
  std::string name_;
};

}  // namespace lockstep::ops
