// NumPy's archive of arrays, .npz: a zip file of .npy files, stored without compression and with
// one fixed time, so that the same values give the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/core/file_system.h"

namespace lockstep::data {

inline constexpr std::uint64_t kMostNpzBytes =
    0xf0000000;  // of all values; zip's own limit is 4 GiB

// Writes as it goes: members begin, their values follow in any pieces, finish() ends the file.
class NpzWriter {
 public:
  // `out` takes the file's bytes in order.
  explicit NpzWriter(std::function<void(ByteView)> out) : out_(std::move(out)) {}

  // An array in C order. `type`: "|u1" (uint8), "<f4" (binary32), "<i8" (int64), little-endian.
  void begin_array(const std::string& name, const std::string& type,
                   const std::vector<std::int64_t>& shape);
  // A file that is no array: NumPy gives its bytes.
  void begin_file(const std::string& name);
  void append(ByteView values);
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t at = 0, crc = 0, size = 0;
  };
  void put(ByteView bytes);
  void end_member();

  std::function<void(ByteView)> out_;
  std::uint64_t written_ = 0;
  std::vector<Entry> members_;
};

// A member of an archive.
struct NpzMember {
  std::string name;                 // "arr_0.npy"
  std::string type;                 // of an array: "|u1", "<f4", "<i8"
  std::vector<std::int64_t> shape;  // of an array
  std::string text;                 // of one that is none
};

// The members of an archive, in order. Every byte is compared with what NpzWriter writes, so
// archives of other programs are refused: Error(kCorrupt). Memory: a few MiB.
std::vector<NpzMember> read_npz(const std::filesystem::path& path);

}  // namespace lockstep::data
