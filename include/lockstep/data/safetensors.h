// safetensors, the file format of weights (https://github.com/huggingface/safetensors): the length
// of a JSON header, the header, then the values, little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::data {

struct SafeTensor {
  std::string name;
  std::vector<std::int64_t> shape;       // of binary32 values, C order
  std::function<Bytes()> little_endian;  // the values, made when their turn comes
};

// Writes a file of these tensors, in this order. metadata: pairs of texts, for readers. `out` takes
// the file's bytes in order. Memory: that of the largest tensor. Bits: the same tensors give the
// same bytes.
void write_safetensors(const std::vector<SafeTensor>& tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata,
                       const std::function<void(ByteView)>& out);

struct LoadedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // C order
};

struct LoadedTensors {
  std::vector<LoadedTensor> tensors;                               // in the order of their values
  std::vector<std::pair<std::string, std::string>> metadata = {};  // of the header; texts only
  hash::Digest digest;                                             // SHA-256 of the file
};

// Reads a file that any program may have made, whole. F32 as it is, F16 and BF16 widened: every
// value of theirs is one of binary32. PyTorch's counts of batches (num_batches_tracked, I64) are
// passed over. Error(kData), naming file and tensor: another type, a header that is none, values
// that overlap, leave a gap or are cut.
LoadedTensors read_safetensors(const std::filesystem::path& path);

}  // namespace lockstep::data
