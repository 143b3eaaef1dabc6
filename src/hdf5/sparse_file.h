// A file driver for HDF5 that keeps the written pages of a file in memory. Holes of any size cost
// nothing, and no path, file system or environment is involved.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <map>

#include "lockstep/core/bytes.h"

namespace lockstep::hdf5 {

class SparseFile {
 public:
  // Makes the next H5Fcreate with this access list write here. The SparseFile must outlive the
  // file's id; both are used inside one Door.
  void use_for(hid_t access_list);

  std::uint64_t size() const { return size_; }
  // Bytes that were never written read as zero.
  void read(std::uint64_t offset, MutableByteView into) const;
  void write(std::uint64_t offset, ByteView bytes);
  void resize(std::uint64_t size) { size_ = size; }

 private:
  static constexpr std::size_t kPageBytes = 4096;
  std::map<std::uint64_t, std::array<std::byte, kPageBytes>> pages_;  // by offset / kPageBytes
  std::uint64_t size_ = 0;
};

}  // namespace lockstep::hdf5
