// Archives of zip (PKWARE's APPNOTE), by any program: what one needs to find an array in an .npz.
// Private to the reader of sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/file_system.h"

namespace lockstep::data {

struct ZipMember {
  std::string name;
  std::uint64_t at = 0;                 // of its header, in bytes
  std::uint64_t stored = 0, bytes = 0;  // in the archive; unpacked
  std::uint32_t crc = 0;                // of what is unpacked
  bool deflated = false;
};

// All members, in the directory's order. Throws Error(kData), a line without the archive's name,
// for what is no archive, cut off, of zip64 (more than 2 GiB), encrypted, or packed by another
// method.
std::vector<ZipMember> zip_members(File& archive);

// A member's bytes. Memory grows with bytes that are really there. Throws Error(kData) for another
// length or CRC than the directory says.
std::vector<std::uint8_t> zip_contents(File& archive, const ZipMember& member);

}  // namespace lockstep::data
