// Canonical files for the tests of this folder.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/hdf5/canonical.h"

namespace lockstep::hdf5 {

inline std::vector<DatasetSpec> some_specs() {
  std::vector<DatasetSpec> specs{
      {"/state/model/conv.weight", Type::kF32, {32, 3, 5, 7}},
      {"/state/model/conv.bias", Type::kF32, {32}},
      {"/state/cursor", Type::kI64, {}},
      {"/state/optimizer/step", Type::kI64, {2}},
      {"/images", Type::kU8, {3, 28, 28, 1}},
  };
  for (int i = 0; i < 20; ++i) {  // more than a group keeps in its header
    specs.push_back({"/many/tensor" + std::to_string(20 - i), Type::kF32, {1000 + i}});
  }
  return specs;
}

inline std::vector<Attribute> some_attributes() {
  return {{"step", std::int64_t{500}}, {"format", std::string("lockstep test")}};
}

// Byte i of data set d is (31 d + i) mod 251.
inline std::vector<Bytes> some_data(const std::vector<DatasetSpec>& specs) {
  std::vector<Bytes> data;
  for (std::size_t d = 0; d < specs.size(); ++d) {
    Bytes& bytes = data.emplace_back(specs[d].bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte((31 * d + i) % 251);
  }
  return data;
}

inline void publish_some(FileSystem& fs, const std::filesystem::path& path,
                         const std::vector<DatasetSpec>& specs, const BlockSink& sink = {}) {
  const std::vector<Bytes> data = some_data(specs);
  const std::vector<ByteView> views(data.begin(), data.end());
  publish(fs, path, make_skeleton(specs, some_attributes()), views, sink);
}

}  // namespace lockstep::hdf5
