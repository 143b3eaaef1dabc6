// Data larger than memory: a folder of shards, made by `lockstep pack --shard-size`.
//
//   shards.index         text: what is there, and the upper part of the hash trees
//   pixels-00000.bin …   the pixels u8 [n, h, w, c], cut after every shard_bytes bytes; of fields
//                        and signals values-00000.bin …, binary32 [n, h, w, c], little-endian
//   pixels.tree          32 bytes a slice: its leaf in the tree (hash/merkle.h)
//   labels-00000.bin …   u32 [n], little-endian, cut likewise; with labels only
//   labels.tree          theirs
//
// A slice is a block of the hash tree, 64 KiB. The index has a node of the tree for every group of
// kGroupSlices slices, 16 MiB, so it is 1/250,000 of the data and its nodes give the root. What is
// read is checked: the slice by its leaf, the leaves of its group by their node. So the content
// hash is that of the same images in one file (images.h, labels.h), and nothing is read whole.
//
// The index, each line ended by LF; numbers without leading zeros, hashes of 64 hexadecimal digits:
//
//   lockstep shards 1
//   images <n> <h> <w> <c>                   or fields, signals
//   hash <content hash>
//   labelled <content hash with labels>      these two with labels only
//   classes <count of label 0> <count of label 1> …   up to the largest label there is
//   name <name>                              only where classes have names: one line a class. The
//                                            first line is then "lockstep shards 2"
//   pixels <bytes> <bytes of a shard>         of fields and signals: values
//   file <name> <bytes>                       one line a shard, in order
//   node <hash>                               one line a group, in order
//   labels <bytes> <bytes of a shard>         with labels only; then its files and nodes
//   check <SHA-256 of the lines above>
//
// Bits: the same images, labels, names and shard_bytes give the same bytes of every file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/data/labels.h"
#include "lockstep/hash/merkle.h"

namespace lockstep::data {

inline constexpr std::uint64_t kGroupSlices = 256;
inline constexpr std::uint64_t kMaxShardedBytes = std::uint64_t{1} << 44;  // 16 TiB of pixels
inline constexpr std::uint64_t kMostShards = 100000;  // of pixels, of labels: names have 5 digits
inline constexpr std::uint64_t kShardCacheBytes = std::uint64_t{64} << 20;  // of slices, a data set
inline constexpr std::string_view kShardsIndex = "shards.index";

// Bytes that lie in shards: all pixels, or all labels.
struct ShardedStream {
  std::string name;               // "pixels", "values", "labels"
  std::uint64_t length = 0;       // bytes, at least one
  std::uint64_t shard_bytes = 0;  // whole slices; the last shard may be shorter
  std::uint64_t sample_bytes = 0;
  std::vector<hash::Digest> nodes;  // one a group

  std::uint64_t slices() const { return hash::block_count(length); }
  std::uint64_t shards() const { return length / shard_bytes + (length % shard_bytes != 0); }
  std::string shard_name(std::uint64_t shard) const;
  std::uint64_t shard_length(std::uint64_t shard) const;
  std::string tree_name() const { return name + ".tree"; }
  hash::Digest root() const;  // of the tree over all slices
};

// "pixels"; of fields and signals "values".
std::string values_stream(SampleKind kind);

struct ShardsIndex {
  ImageShape shape;
  hash::Digest hash;                     // of the images alone
  std::optional<hash::Digest> labelled;  // with their labels, if there are any
  std::vector<std::uint64_t> classes;    // samples with the label 0, 1, …; the last is not 0
  ShardedStream pixels;
  std::optional<ShardedStream> labels;
  ClassNames names = {};  // of the labels 0, 1, …; none, or for all
};

// The text of the index. parse_shards_index accepts exactly what this gives, and only where the
// hashes follow from the nodes; else it throws Error(kData), a line without the file's name.
std::string format_shards_index(const ShardsIndex& index);
ShardsIndex parse_shards_index(std::string_view text);

// Is it a folder with an index?
bool is_sharded(const std::filesystem::path& path);

// Throws Error(kData) with the file's name: no index, a damaged one, or (what takes a look at
// names and lengths, not at contents) a shard that is missing or of another length.
ShardsIndex read_shards_index(const std::filesystem::path& folder);

// The data set; `classes` as in Options, 0: labels are not read. The time to open it grows with the
// index. Memory: the index and `cache_bytes` of slices, whatever the size of the data. A sample
// whose bytes are missing, cut off or changed, also since the data were opened, is Error(kData)
// naming file, bytes and samples. A slice in the cache was checked when it was read.
// Throws as read_shards_index; Error(kData) for labels beyond `classes`, or for none.
std::unique_ptr<Dataset> open_sharded(const std::filesystem::path& folder, std::int64_t classes,
                                      std::uint64_t cache_bytes = kShardCacheBytes);

// Reads everything, slice by slice. findings: a line for each file that is missing, cut off or
// changed, with the first bytes of it that are; none: all is there. Throws Error(kData) where the
// index is damaged. progress: slices done, of how many.
struct ShardsVerified {
  ShardsIndex index;
  std::vector<std::string> findings;
};
ShardsVerified verify_sharded(
    const std::filesystem::path& folder,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

// All pixels in order, in pieces of a slice; the result has the labels, and no images. Throws as
// reading a sample does.
LabelledImages stream_shards(
    const std::filesystem::path& folder,
    const std::function<void(const ImageShape& shape, std::span<const std::uint8_t> pixels)>& take);

// Writes the folder, the index last. It may be there, empty or with what a killed writer left.
// shard_bytes: the most that a shard has, rounded down to whole slices. `labels`: one an image, or
// empty; `names`: for all of them, or none. Throws Error(kUsage) for a folder with anything else,
// for less than a slice, and for more than kMostShards; Error(kData) as require_class_names;
// Error(kEnvironment) if it cannot be written.
ShardsIndex write_shards(const std::filesystem::path& folder, const Images& images,
                         const Labels& labels, std::uint64_t shard_bytes,
                         const ClassNames& names = {});

}  // namespace lockstep::data
