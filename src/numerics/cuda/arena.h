// Private: the memory of captured work (numerics/device.h). A graph has the addresses of its blocks
// written into it, so a block that was given back stays, for what is captured next. Any thread may
// call.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace lockstep::numerics::cuda {

class Arena {
 public:
  // A free block of so many bytes, or some more. Null: none.
  void* take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto found = free_.lower_bound(bytes);
    if (found == free_.end() || found->first > bytes + bytes / 8) return nullptr;
    void* const block = found->second;
    free_.erase(found);
    return block;
  }
  // A new block, which is taken.
  void add(void* block, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    sizes_[block] = bytes;
  }
  // Whether it is one of these: then it is free.
  bool give_back(void* block) {
    const std::scoped_lock lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) return false;
    if (users_ == 0) {  // it outlived the last graph
      sizes_.erase(found);
      return false;
    }
    free_.emplace(found->second, block);
    return true;
  }

  // Graphs that use it.
  void begin_use() {
    const std::scoped_lock lock(mutex_);
    ++users_;
  }
  // The free blocks, which are no longer these, if that was the last graph.
  std::vector<void*> end_use() {
    const std::scoped_lock lock(mutex_);
    std::vector<void*> blocks;
    if (--users_ > 0) return blocks;
    for (const auto& [bytes, block] : free_) {
      blocks.push_back(block);
      sizes_.erase(block);
    }
    free_.clear();
    return blocks;
  }

 private:
  std::mutex mutex_;
  std::multimap<std::size_t, void*> free_;
  std::map<void*, std::size_t> sizes_;  // of all
  int users_ = 0;
};

}  // namespace lockstep::numerics::cuda
