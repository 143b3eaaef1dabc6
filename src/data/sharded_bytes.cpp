#include "sharded_bytes.h"

#include <algorithm>
#include <cstring>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "raw_file.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kOpenFiles = 64, kGroupsKept = 512;
constexpr std::size_t kDigest = sizeof(hash::Digest);

}  // namespace

ShardedBytes::ShardedBytes(std::filesystem::path folder, ShardedStream stream,
                           std::uint64_t cache_bytes)
    : folder_(std::move(folder)),
      stream_(std::move(stream)),
      tree_(stream_.shards()),
      slices_(std::max<std::size_t>(1, cache_bytes / hash::kBlockBytes)),
      leaves_(kGroupsKept),
      files_(kOpenFiles) {}

std::filesystem::path ShardedBytes::path_of(std::uint64_t number) const {
  return folder_ / (number == tree_ ? stream_.tree_name() : stream_.shard_name(number));
}

std::uint64_t ShardedBytes::length_of(std::uint64_t number) const {
  return number == tree_ ? stream_.slices() * kDigest : stream_.shard_length(number);
}

// "samples 83 to 167", of bytes of the stream.
std::string ShardedBytes::samples_in(std::uint64_t begin, std::uint64_t end) const {
  return "samples " + std::to_string(begin / stream_.sample_bytes) + " to " +
         std::to_string((end - 1) / stream_.sample_bytes);
}

// Bytes of the file.
void ShardedBytes::refuse(std::uint64_t number, std::uint64_t begin, std::uint64_t end,
                          const std::string& what) const {
  const std::uint64_t first = number * stream_.shard_bytes;
  const std::string samples =
      number == tree_ ? "" : " (" + samples_in(first + begin, first + end) + ")";
  throw Error(Code::kData,
              path_of(number).string() + ", bytes " + std::to_string(begin) + " to " +
                  std::to_string(end) + samples + ": " + what,
              kPutShardBack);
}

std::vector<std::pair<std::string, std::string>> ShardedBytes::misfits() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (std::uint64_t number = 0; number <= tree_; ++number) {
    const std::string path = path_of(number).string();
    const std::uint64_t length = length_of(number), first = number * stream_.shard_bytes;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      found.emplace_back(
          path, path + " is missing" +
                    (number == tree_ ? "" : ": it holds " + samples_in(first, first + length)));
      continue;
    }
    if (const std::uint64_t there = std::filesystem::file_size(path, error);
        !error && there != length)
      found.emplace_back(path, path + " has " + counted(there, "byte") + " instead of " +
                                   std::to_string(length) + ": it is cut off or changed");
  }
  return found;
}

std::shared_ptr<File> ShardedBytes::file(std::uint64_t number) const {
  if (auto open = files_.find(number)) return open;
  std::shared_ptr<File> opened = open_data_file(path_of(number));
  files_.put(number, opened);
  return opened;
}

// Of one file, all of them.
std::vector<std::uint8_t> ShardedBytes::bytes_in(std::uint64_t number, std::uint64_t begin,
                                                 std::uint64_t count) const {
  std::vector<std::uint8_t> bytes(count);
  const std::size_t got = file(number)->read_at(begin, std::as_writable_bytes(std::span(bytes)));
  if (got < count) refuse(number, begin + got, begin + count, "the file is cut off");
  return bytes;
}

std::shared_ptr<const ShardedBytes::Leaves> ShardedBytes::checked_leaves(
    std::uint64_t group) const {
  if (auto kept = leaves_.find(group)) return kept;
  const std::uint64_t first = group * kGroupSlices,
                      count = std::min(kGroupSlices, stream_.slices() - first),
                      begin = first * kDigest, end = begin + count * kDigest;
  const std::vector<std::uint8_t> bytes = bytes_in(tree_, begin, count * kDigest);
  auto leaves = std::make_shared<Leaves>(count);
  for (std::uint64_t i = 0; i < count; ++i)
    std::memcpy((*leaves)[i].bytes.data(), bytes.data() + i * kDigest, kDigest);
  if (hash::tree_top(*leaves) != stream_.nodes[group])
    refuse(tree_, begin, end, "changed since the data were packed");
  leaves_.put(group, leaves);
  return leaves;
}

std::shared_ptr<const ShardedBytes::Slice> ShardedBytes::checked_slice(std::uint64_t slice) const {
  const auto leaves = checked_leaves(slice / kGroupSlices);
  const std::uint64_t first = slice * hash::kBlockBytes, number = first / stream_.shard_bytes,
                      begin = first % stream_.shard_bytes,
                      count = std::min<std::uint64_t>(hash::kBlockBytes, stream_.length - first);
  auto bytes = std::make_shared<const Slice>(bytes_in(number, begin, count));
  if (hash::block_digest(std::as_bytes(std::span(*bytes))) != (*leaves)[slice % kGroupSlices])
    refuse(number, begin, begin + count, "changed since the data were packed");
  return bytes;
}

void ShardedBytes::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
  LOCKSTEP_ASSERT(offset <= stream_.length && into.size() <= stream_.length - offset,
                  std::to_string(offset));
  while (!into.empty()) {
    const std::uint64_t slice = offset / hash::kBlockBytes, skip = offset % hash::kBlockBytes;
    auto bytes = slices_.find(slice);
    if (!bytes) {
      bytes = checked_slice(slice);
      slices_.put(slice, bytes);
    }
    const std::size_t count = std::min<std::size_t>(bytes->size() - skip, into.size());
    std::copy_n(bytes->begin() + static_cast<std::ptrdiff_t>(skip), count, into.begin());
    into = into.subspan(count);
    offset += count;
  }
}

void ShardedBytes::read_all(
    const std::function<void(std::span<const std::uint8_t>)>& slice,
    const std::function<void(const std::string&, const std::string&)>& damaged) const {
  for (std::uint64_t i = 0; i < stream_.slices(); ++i) {
    std::shared_ptr<const Slice> bytes;
    try {
      bytes = checked_slice(i);
    } catch (const Error& e) {
      damaged(path_of(i * hash::kBlockBytes / stream_.shard_bytes).string(), e.message());
      continue;
    }
    slice(*bytes);
  }
}

}  // namespace lockstep::data
