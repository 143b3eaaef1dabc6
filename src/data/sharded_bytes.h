// Reading of what lies in shards: by slices, checked, with what was used last kept in memory.
// Private to the data set of shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/file_system.h"
#include "lockstep/data/shards.h"

namespace lockstep::data {

inline constexpr const char* kPutShardBack =
    "put it back from a copy, or make the folder again with 'lockstep pack'";

// The `most` values used last, by number. Thread-safe.
template <class T>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  // nullptr: it is not there.
  std::shared_ptr<T> find(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }

  void put(std::uint64_t key, std::shared_ptr<T> value) {
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return;  // another thread was as fast
    if (order_.size() >= most_) {
      places_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, std::move(value));
    places_[key] = order_.begin();
  }

 private:
  using Order = std::list<std::pair<std::uint64_t, std::shared_ptr<T>>>;

  const std::size_t most_;
  std::mutex mutex_;
  Order order_;  // the last one used in front
  std::map<std::uint64_t, typename Order::iterator> places_;
};

// Const and thread-safe, as a Dataset is.
class ShardedBytes {
 public:
  // Opens nothing yet. cache_bytes: of slices; one is always kept.
  ShardedBytes(std::filesystem::path folder, ShardedStream stream, std::uint64_t cache_bytes);

  const ShardedStream& stream() const { return stream_; }

  // A line for each shard, and for the tree, that is missing or of another length, by its path.
  std::vector<std::pair<std::string, std::string>> misfits() const;

  // Bytes [offset, offset + into.size()). Throws Error(kData) naming file, bytes and samples where
  // they are missing, cut off, or not those that were packed; LOCKSTEP_ASSERTs the range.
  void read(std::uint64_t offset, std::span<std::uint8_t> into) const;

  // Every slice in order, past the cache: `slice` gets its bytes, or `damaged` its shard and why.
  void read_all(
      const std::function<void(std::span<const std::uint8_t> bytes)>& slice,
      const std::function<void(const std::string& file, const std::string& why)>& damaged) const;

 private:
  using Slice = std::vector<std::uint8_t>;
  using Leaves = std::vector<hash::Digest>;

  std::shared_ptr<const Slice> checked_slice(std::uint64_t slice) const;
  std::shared_ptr<const Leaves> checked_leaves(std::uint64_t group) const;
  std::shared_ptr<File> file(std::uint64_t number) const;
  std::filesystem::path path_of(std::uint64_t number) const;
  std::uint64_t length_of(std::uint64_t number) const;
  std::vector<std::uint8_t> bytes_in(std::uint64_t number, std::uint64_t begin,
                                     std::uint64_t count) const;
  std::string samples_in(std::uint64_t begin, std::uint64_t end) const;
  [[noreturn]] void refuse(std::uint64_t number, std::uint64_t begin, std::uint64_t end,
                           const std::string& what) const;

  const std::filesystem::path folder_;
  const ShardedStream stream_;
  const std::uint64_t tree_;  // the number of the tree's file; shards have those below
  mutable Recent<const Slice> slices_;
  mutable Recent<const Leaves> leaves_;
  mutable Recent<File> files_;
};

}  // namespace lockstep::data
