// Canonical HDF5 files: the bytes are a pure function of the data sets' names, types, shapes and
// values and of the attributes, on every machine and with every version of HDF5 from 1.10 on.
//
// How: no object times; every group and data set is made in the order given, with link creation
// order tracked and indexed; library version bounds V18/V18; contiguous layout, early allocation,
// fill never; alignment 4096 for everything of 4096 bytes or more (so for tensors: metadata comes
// in blocks of 2048, but for the name index of a group with many hundreds of links) and none for
// smaller things; few attributes, fixed-length strings.
//
// HDF5 writes only a skeleton, into memory that keeps nothing but written pages, so the tensors'
// space costs nothing. The rest is ours: the file on disk is written through core's FileSystem, so
// HDF5 (which never syncs) has no part in what must survive a crash, and every fault can be
// injected in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/core/file_system.h"

namespace lockstep::hdf5 {

enum class Type { kF32, kU8, kU32, kI64 };  // little-endian in the file
constexpr std::size_t size_of(Type type) {
  return type == Type::kI64 ? 8 : type == Type::kU8 ? 1 : 4;
}

// A data set. Paths are absolute ("/state/model/conv.weight"); each group above is made when it is
// first needed, and what is in it stands together in the list: no group is left and entered again.
// No dimension may be 0; no dimensions at all is a scalar; at most 8.
struct DatasetSpec {
  std::string path;
  Type type = Type::kF32;
  std::vector<std::int64_t> shape;

  std::uint64_t bytes() const;  // product of the shape times size_of(type)
  bool operator==(const DatasetSpec&) const = default;
};

// An attribute of the root group: at most 8 in a file, a text of 1 to 4096 bytes without NUL.
struct Attribute {
  std::string name;
  std::variant<std::string, std::int64_t> value;

  bool operator==(const Attribute&) const = default;
};

struct Extent {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
};

// All of a canonical file but the tensors' bytes.
struct Skeleton {
  std::uint64_t length = 0;      // of the file
  std::vector<Extent> datasets;  // where each data set's bytes go, in the order of the specs
  struct Piece {
    std::uint64_t offset;
    Bytes bytes;
  };
  std::vector<Piece>
      metadata;  // everything else, by offset; together with the data sets, the whole
};

// Throws Error(kBug) for specs and attributes that break the rules above (they are our program's),
// Error(kEnvironment) if HDF5 or the machine fails.
// Thread-safe (one call at a time goes into HDF5). Bits: of the arguments only.
Skeleton make_skeleton(std::span<const DatasetSpec> specs, std::span<const Attribute> attributes);

// The unit in which files are written and hashed.
inline constexpr std::size_t kBlockBytes = 64 * 1024;
// Sees every block of the file in order; the last may be shorter. For hashing while writing.
using BlockSink = std::function<void(ByteView block)>;

// Writes the file so that `path` is, whatever happens, the old file (or none) or the complete new
// one: temporary file `<path>.lockstep.tmp` beside it, write, compare what reads back with the
// skeleton and the tensors, fsync, rename, fsync of the folder. tensors[i] holds the bytes of data
// set i. before_rename runs when all bytes are durable and the file has not got its name yet:
// whoever sees the file then sees what was published there (its sidecar) too. Throws
// Error(kEnvironment) and removes the temporary file.
void publish(FileSystem& fs, const std::filesystem::path& path, const Skeleton& skeleton,
             std::span<const ByteView> tensors, const BlockSink& sink = {},
             const std::function<void()>& before_rename = {});

}  // namespace lockstep::hdf5
