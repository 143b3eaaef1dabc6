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

// As three dimensions, of which PyTorch has the last one first: positions, in, out.
struct TorchLayout {
  std::vector<std::int64_t> shape;  // PyTorch's
  std::int64_t positions = 1, in = 1, out = 1;

  // take(the number here) of each value, in PyTorch's C order.
  template <class Take>
  void each(Take&& take) const {
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t at = 0; at < positions; ++at) take((at * in + i) * out + o);
  }
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
