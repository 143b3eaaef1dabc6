// Who touched a word of global memory last, in one launch: two threads do, one of them writes, and
// nothing orders them. A barrier orders the threads of a block, nothing orders blocks. Threads of a
// block may write the same value. Items of less than a word are not looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "support/ptx/memory.h"

namespace lockstep::test::ptx {

class GlobalMemory {
 public:
  GlobalMemory() = default;
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  void begin_launch();
  void begin_block() { first_of_block_ = ++now_; }
  void barrier() { ++now_; }

  // False: a thread of another block, or of this one since the last barrier, is in the way. Where
  // the host finds them.
  bool read(const char* place, std::size_t bytes, int thread) {
    return each_word(place, bytes, [&](Word& word, std::size_t) {
      if (!ordered(word.written, word.writer, thread)) return false;
      if (of_another_block(word.read)) return true;  // a write would meet that
      word.reader = word.read == now_ && word.reader != thread ? kSeveral : thread;
      word.read = now_;
      return true;
    });
  }
  // `item` will be there.
  bool write(const char* place, const char* item, std::size_t bytes, int thread) {
    return each_word(place, bytes, [&](Word& word, std::size_t at) {
      if (!ordered(word.read, word.reader, thread) || of_another_block(word.written)) return false;
      if (ordered(word.written, word.writer, thread))
        word.writer = thread;
      else if (std::memcmp(place + at, item + at, 4) == 0)
        word.writer = kSeveral;
      else
        return false;
      word.written = now_;
      return true;
    });
  }

 private:
  static constexpr int kSeveral = -1;
  static constexpr std::size_t kPageBytes = 4096, kPageWords = kPageBytes / 4;

  struct Word {
    std::uint32_t written = 0, read = 0;  // when; 0: never
    int writer = 0, reader = 0;           // threads of a block
  };
  struct Page {
    std::array<Word, kPageWords> words;
  };

  bool of_another_block(std::uint32_t when) const {
    return when >= first_of_launch_ && when < first_of_block_;
  }
  bool ordered(std::uint32_t when, int who, int thread) const {
    return !of_another_block(when) && (when != now_ || who == thread);
  }

  template <class Visit>
  bool each_word(const char* place, std::size_t bytes, const Visit& visit) {
    if (bytes < 4) return true;
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    Page& page = page_of(at / kPageBytes);  // an aligned item is in one
    const std::size_t first = at % kPageBytes / 4;
    for (std::size_t i = 0; i < bytes / 4; ++i)
      if (!visit(page.words[first + i], 4 * i)) return false;
    return true;
  }
  Page& page_of(std::uintptr_t number) {
    Cached& cached = cache_[number % cache_.size()];
    if (cached.number != number || cached.page == nullptr) cached = {number, &find(number)};
    return *cached.page;
  }
  Page& find(std::uintptr_t number);

  struct Cached {
    std::uintptr_t number = 0;
    Page* page = nullptr;
  };
  using Item = std::pair<const std::uintptr_t, Page*>;

  std::unordered_map<std::uintptr_t, Page*, std::hash<std::uintptr_t>, std::equal_to<>,
                     Malloc<Item>>
      pages_;
  std::array<Cached, 256> cache_;
  // Intervals between barriers, of all launches.
  std::uint32_t now_ = 0, first_of_launch_ = 1, first_of_block_ = 1;
};

// Of this thread of the host.
GlobalMemory& global_memory();

}  // namespace lockstep::test::ptx
