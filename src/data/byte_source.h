// The bytes of a plain or gzip-compressed file, read forward. Private to the IDX reader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lockstep/core/file_system.h"

namespace lockstep::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `into`; fewer bytes only at the end of the data. Throws Error(kData) for damaged gzip.
  virtual std::size_t read(std::span<std::uint8_t> into) = 0;
  // An upper bound on the bytes that the whole file can give.
  virtual std::uint64_t most() const = 0;
  // Throws Error(kData) unless the data, and the file, end here (gzip: with the right CRC and
  // length).
  virtual void expect_end() = 0;
};

// Recognises gzip by its magic number. `file` must outlive the source.
std::unique_ptr<ByteSource> open_source(File& file);

}  // namespace lockstep::data
