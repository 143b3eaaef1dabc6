#include "support/ptx/shared_memory.h"

#include <cstring>

#include "support/ptx/program.h"

namespace lockstep::test::ptx {

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes), words_((bytes + 3) / 4) {}

void SharedMemory::begin() {
  if (!bytes_.empty()) std::memset(bytes_.data(), 0xff, bytes_.size());
  barrier();
}

bool SharedMemory::inside(std::uint32_t address, std::size_t bytes) {
  if (address < kShared || address - kShared + bytes > bytes_.size()) {
    problem_ = "byte " + std::to_string(static_cast<std::int64_t>(address) - kShared) +
               " of shared memory, which has " + std::to_string(bytes_.size());
  } else if ((address & (bytes - 1)) != 0) {
    problem_ = "an address in shared memory that is not aligned";
  } else {
    return true;
  }
  return false;
}

SharedMemory::Word& SharedMemory::fresh(std::size_t word) {
  Word& found = words_[word];
  if (found.interval != interval_) found = Word{.interval = interval_};
  return found;
}

bool SharedMemory::race(const char* what, std::size_t word, int other, Thread thread) {
  problem_ = "threads race for byte " + std::to_string(word * 4) + " of shared memory: thread " +
             std::to_string(thread.number) + " " + what + " " +
             (other == kSeveral ? "several" : "thread " + std::to_string(other));
  return true;
}

const std::byte* SharedMemory::read(std::uint32_t address, std::size_t bytes, Thread thread) {
  if (!inside(address, bytes)) return nullptr;
  const int warp = thread.number / kLanes;
  for (std::size_t i = (address - kShared) / 4; i <= (address - kShared + bytes - 1) / 4; ++i) {
    Word& word = fresh(i);
    if (word.writer != kNobody && word.writer != thread.number &&
        (word.writer / kLanes != warp || word.written == thread.met) &&
        race("reads what was written by", i, word.writer, thread))
      return nullptr;
    if (word.reader == kNobody) {
      word.reader = thread.number;
      word.readers_warp = warp;
    } else if (word.reader != thread.number) {
      word.reader = kSeveral;
      if (word.readers_warp != warp) word.readers_warp = kSeveral;
    }
    word.read = thread.met;
  }
  return &bytes_[address - kShared];
}

std::byte* SharedMemory::write(std::uint32_t address, std::size_t bytes, Thread thread) {
  if (!inside(address, bytes)) return nullptr;
  const int warp = thread.number / kLanes;
  for (std::size_t i = (address - kShared) / 4; i <= (address - kShared + bytes - 1) / 4; ++i) {
    Word& word = fresh(i);
    if (word.writer != kNobody && word.writer != thread.number &&
        (word.writer / kLanes != warp || word.written == thread.met) &&
        race("writes what was written by", i, word.writer, thread))
      return nullptr;
    if (word.reader != kNobody && word.reader != thread.number &&
        (word.readers_warp != warp || word.read == thread.met) &&
        race("writes what was read by", i, word.reader, thread))
      return nullptr;
    word.writer = thread.number;
    word.written = thread.met;
  }
  return &bytes_[address - kShared];
}

}  // namespace lockstep::test::ptx
