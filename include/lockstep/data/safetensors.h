// safetensors, the file format of weights (https://github.com/huggingface/safetensors): the length
// of a JSON header, the header, then the values. The same tensors give the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/bytes.h"

namespace lockstep::data {

struct SafeTensor {
  std::string name;
  std::vector<std::int64_t> shape;       // of binary32 values, C order
  std::function<Bytes()> little_endian;  // the values, made when their turn comes
};

// Writes a file of these tensors, in this order. metadata: pairs of texts, for readers. `out` takes
// the file's bytes in order. Memory: that of the largest tensor.
void write_safetensors(const std::vector<SafeTensor>& tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata,
                       const std::function<void(ByteView)>& out);

}  // namespace lockstep::data
