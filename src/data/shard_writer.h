// Writing a folder of shards, picture after picture, in memory that does not grow with them.
// Private to `pack`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/core/file_system.h"
#include "lockstep/data/shards.h"

namespace lockstep::data {

// One stream's files. Bytes come in pieces of any size, at least one in all.
class ShardStreamWriter {
 public:
  // made: gets the path of each file.
  ShardStreamWriter(std::filesystem::path folder, ShardedStream stream,
                    std::vector<std::filesystem::path>& made);
  void add(std::span<const std::uint8_t> bytes);
  ShardedStream finish();  // all files are durable

 private:
  std::unique_ptr<File> create(const std::string& name);
  void end_slice();
  void end_group();

  const std::filesystem::path folder_;
  ShardedStream stream_;
  std::vector<std::filesystem::path>& made_;
  std::unique_ptr<File> tree_, shard_;
  Bytes slice_;
  std::vector<hash::Digest> leaves_;  // of this group
};

class ShardWriter {
 public:
  // Takes the folder, which may hold what a killed writer left. Throws as write_shards.
  ShardWriter(std::filesystem::path folder, std::uint64_t shard_bytes);
  ~ShardWriter();  // removes everything unless all was finished
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  // Whole pictures of this shape, whose n is not looked at.
  void add(const ImageShape& shape, std::span<const std::uint8_t> pixels);
  // LOCKSTEP_ASSERTs a picture, a label each or none, and names for all labels or none. Throws
  // Error(kData) for a label beyond kMostClasses, and as require_class_names.
  ShardsIndex finish(const Labels& labels, const ClassNames& names);

 private:
  ShardedStream stream(const std::string& name, std::int64_t sample_bytes) const;

  const std::filesystem::path folder_;
  const std::uint64_t shard_bytes_;
  ImageShape shape_;
  bool made_folder_ = false, finished_ = false;
  std::vector<std::filesystem::path> made_;
  std::optional<ShardStreamWriter> pixels_;
};

}  // namespace lockstep::data
