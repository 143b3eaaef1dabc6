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

bool SharedMemory::written_by_another(const Word& word, int thread) {
  return word.writer != kNobody && word.writer != thread;
}

void SharedMemory::race(std::size_t word, const char* what, int other, int thread) {
  problem_ = "threads race for byte " + std::to_string(word * 4) + " of shared memory: thread " +
             std::to_string(thread) + " " + what + " " +
             (other == kSeveral ? "several" : "thread " + std::to_string(other));
}

// visit(word, its number) for all of an access; null where one says no.
template <class Visit>
std::byte* SharedMemory::access(std::uint32_t address, std::size_t bytes, const Visit& visit) {
  if (!inside(address, bytes)) return nullptr;
  const std::size_t first = address - kShared;
  for (std::size_t i = first / 4; i <= (first + bytes - 1) / 4; ++i)
    if (!visit(fresh(i), i)) return nullptr;
  return &bytes_[first];
}

const std::byte* SharedMemory::read(std::uint32_t address, std::size_t bytes, int thread) {
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

std::byte* SharedMemory::write(std::uint32_t address, std::size_t bytes, int thread) {
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
