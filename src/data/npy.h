// Arrays as NumPy saves them (.npy, NEP 1; formats 1.0 and 2.0), by any program. Private to the
// reader of sources; our own archives of samples have a stricter one (npz.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::data {

struct NpyHead {
  std::string type;                 // NumPy's "descr": "|u1", "<i8"
  std::vector<std::int64_t> shape;  // each from 0
  std::uint64_t begin = 0;          // of the values in the file, in bytes
};

struct NpyArray : NpyHead {
  std::vector<std::uint8_t> values;  // row-major, as many bytes as type and shape say
};

inline constexpr std::size_t kMostNpyHead = 65536 + 12;  // bytes: no array's values begin later

// Of integers of 1, 2, 4 or 8 bytes, booleans and floats. `file` becomes the array's values without
// another copy. Throws Error(kData), a line without the file's name, for what is no such file,
// damaged, in Fortran's order, of another type, or of another length than its header says.
NpyArray parse_npy(std::vector<std::uint8_t> file);
// What stands before the values of a file of `size` bytes, which begins with `first`: all of it, or
// kMostNpyHead bytes. Throws as parse_npy.
NpyHead parse_npy_head(std::span<const std::uint8_t> first, std::uint64_t size);

// The floats of an array, as the bytes of binary32, little-endian: of binary32 as they are, of
// binary64 rounded once, to nearest, ties to even. Throws Error(kData), a line without the file's
// name, for floats of another size; and for the first value that is not finite or beyond binary32,
// naming sample and index.
class NpyFloats {
 public:
  explicit NpyFloats(const NpyHead& array);
  // Of the next bytes of the array, whole values.
  std::vector<std::uint8_t> next(std::span<const std::uint8_t> values);

 private:
  [[noreturn]] void refuse(double value) const;

  bool big_, double_;
  std::vector<std::int64_t> sample_;  // the shape of one
  std::int64_t done_ = 0;             // values
};

// Integer i of an array of "i" or "u", in its order of bytes. Nothing where it is below 0 or above
// 2^63 - 1. LOCKSTEP_ASSERTs a type of integers.
std::optional<std::int64_t> integer_at(const NpyArray& array, std::int64_t i);

}  // namespace lockstep::data
