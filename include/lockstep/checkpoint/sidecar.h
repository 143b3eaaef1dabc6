// The sidecar `<file>.sha256`: the SHA-256 tree of a file as text, so that a damaged byte is not
// only found but located, and so that a file is verified before any library parses it.
//
//   lockstep-sha256-tree 1 leaf=65536 length=<bytes of the file> root=<64 hex>
//   <64 hex>                            leaf of each 64 KiB block, in order (hash/merkle.h)
//   tensor <offset> <bytes> <path>      each data set, by offset
//   check <64 hex>                      SHA-256 of all the lines above
//
// LF line ends, decimal numbers, no other text. Bits: of the file only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::checkpoint {

struct Region {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string path;  // of the data set; no line end in it

  bool operator==(const Region&) const = default;
};

struct Sidecar {
  std::uint64_t length = 0;
  hash::Digest root;
  std::vector<hash::Digest> leaves;
  std::vector<Region> tensors;  // by offset
};

// leaves: hash::block_digest of each block of a file of `length` bytes. Computes the root.
Sidecar make_sidecar(std::uint64_t length, std::vector<hash::Digest> leaves,
                     std::vector<Region> tensors);

std::string format_sidecar(const Sidecar& sidecar);

// What verification found: a value, because it was asked for.
struct Finding {
  std::string file;         // the damaged one: the file or its sidecar
  std::uint64_t begin = 0;  // the bytes [begin, end) of it that are concerned
  std::uint64_t end = 0;
  std::string tensor;  // data sets in that range, separated by ", "; empty if none
  std::string what;    // "bytes differ from the sidecar"

  std::string line() const;  // all of it in one line
};

// Checks a file's bytes against its sidecar's text; nothing if both are whole. The first damage is
// reported. A changed byte in the sidecar is blamed on the sidecar, whichever byte it is.
// file_name: of the file; the sidecar is file_name + ".sha256".
std::optional<Finding> verify_sidecar(ByteView file, std::string_view sidecar,
                                      const std::string& file_name);

// Throws Error(kCorrupt) for a text that is not exactly what format_sidecar writes.
Sidecar parse_sidecar(std::string_view text, const std::string& name);

}  // namespace lockstep::checkpoint
