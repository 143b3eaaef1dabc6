// The shared memory of a block. It knows of each word who touched it since the block's last
// barrier, so it finds two threads that nothing orders: a shuffle or a product of a warp does not
// (CUDA C++ Programming Guide, "Warp Shuffle Functions").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/ptx/program.h"

namespace lockstep::test::ptx {

class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);

  // Full of NaNs, and nobody has touched it.
  void begin();
  // All threads of the block meet.
  void barrier() { ++interval_; }

  // The bytes at an address, for a thread of the block that reads or writes them. Null: `problem`
  // says why not.
  const std::byte* read(std::uint32_t address, std::size_t bytes, int thread);
  std::byte* write(std::uint32_t address, std::size_t bytes, int thread);
  const std::string& problem() const { return problem_; }

 private:
  static constexpr int kNobody = -1, kSeveral = -2;
  struct Word {
    int interval = 0;
    int writer = kNobody, reader = kNobody;  // threads
  };

  bool inside(std::uint32_t address, std::size_t bytes) const {
    return address >= kShared && address - kShared + bytes <= bytes_.size() &&
           (address & (bytes - 1)) == 0;
  }
  Word& fresh(std::size_t word) {
    Word& found = words_[word];
    if (found.interval != interval_) found = Word{.interval = interval_};
    return found;
  }
  static bool written_by_another(const Word& word, int thread) {
    return word.writer != kNobody && word.writer != thread;
  }
  // visit(word, its number) for all of an access; null where one says no.
  template <class Visit>
  std::byte* access(std::uint32_t address, std::size_t bytes, const Visit& visit) {
    if (!inside(address, bytes)) {
      outside(address, bytes);
      return nullptr;
    }
    const std::size_t first = address - kShared;
    for (std::size_t i = first / 4; i <= (first + bytes - 1) / 4; ++i)
      if (!visit(fresh(i), i)) return nullptr;
    return &bytes_[first];
  }
  // What is wrong, in words.
  void outside(std::uint32_t address, std::size_t bytes);
  void race(std::size_t word, const char* what, int other, int thread);

  std::vector<std::byte> bytes_;
  std::vector<Word> words_;
  int interval_ = 0;
  std::string problem_;
};

inline const std::byte* SharedMemory::read(std::uint32_t address, std::size_t bytes, int thread) {
  return access(address, bytes, [&](Word& word, std::size_t i) {
    if (written_by_another(word, thread)) {
      race(i, "reads what was written by", word.writer, thread);
      return false;
    }
    if (word.reader == kNobody)
      word.reader = thread;
    else if (word.reader != thread)
      word.reader = kSeveral;
    return true;
  });
}

inline std::byte* SharedMemory::write(std::uint32_t address, std::size_t bytes, int thread) {
  return access(address, bytes, [&](Word& word, std::size_t i) {
    if (written_by_another(word, thread)) {
      race(i, "writes what was written by", word.writer, thread);
      return false;
    }
    if (word.reader != kNobody && word.reader != thread) {
      race(i, "writes what was read by", word.reader, thread);
      return false;
    }
    word.writer = thread;
    return true;
  });
}

}  // namespace lockstep::test::ptx
