// Files and JSON that anybody may have made: what is read of them is bounded, whatever they claim.
// A sparse file of 3 TiB costs its maker nothing, and so do 200,000 brackets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"

namespace lockstep {

inline constexpr std::uint64_t kLongestLine = std::uint64_t{1} << 20;  // bytes, of a text of lines
inline constexpr std::uint64_t kMostJson = std::uint64_t{16} << 20;    // bytes, of one JSON value
inline constexpr int kDeepestJson = 64;  // arrays and objects in each other

// A whole file of at most `most` bytes. Throws Error(code) naming a larger one before a byte of it
// is read, Error(kEnvironment) where it does not fit into memory.
Bytes read_file(FileSystem& fs, const std::filesystem::path& path, std::uint64_t most,
                Code code = Code::kCorrupt);
std::string read_text(FileSystem& fs, const std::filesystem::path& path, std::uint64_t most,
                      Code code = Code::kCorrupt);

// A text of lines that may be of any length, as a ledger is. Throws Error(code) at the first line
// of more than `longest` bytes, and reads no further: what is no text (a sparse file's zeros) is
// one line without end.
std::string read_lines(FileSystem& fs, const std::filesystem::path& path,
                       std::uint64_t longest = kLongestLine, Code code = Code::kCorrupt);

}  // namespace lockstep
