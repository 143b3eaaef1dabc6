// Where the values of a network's tensor stand in PyTorch's order: a convolution's [height, width,
// in, out] is [out, in, height, width] there, a matrix [in, out] is [out, in]. Other tensors are
// the same in both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/state/state.h"

namespace lockstep::train {

struct TorchLayout {
  std::vector<std::int64_t> shape;  // PyTorch's
  std::vector<std::int64_t> here;   // of each value there, in C order, its number here
};

// The weights of a role: its parameters, or an average of them, and its buffers, by path.
class Weights {
 public:
  // average: its number, counted from 0; without, or where it is not kept, the parameters. Holds
  // the state's tensors, which share their memory.
  Weights(const state::State& state, const std::string& role,
          std::optional<std::size_t> average = {});

  struct Tensor {
    std::string path;
    at::Tensor tensor;
  };
  const std::vector<Tensor>& tensors() const { return tensors_; }  // in the state's order

  TorchLayout layout(const Tensor& tensor) const;

 private:
  bool take(const state::Named& named, const std::string& prefix);

  std::vector<Tensor> tensors_;
  std::map<std::string, std::size_t> place_;
};

}  // namespace lockstep::train
