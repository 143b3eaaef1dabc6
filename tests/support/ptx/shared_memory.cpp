#include "support/ptx/shared_memory.h"

#include <cstring>

#include "support/ptx/program.h"

namespace lockstep::test::ptx {

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes), words_((bytes + 3) / 4) {}

void SharedMemory::begin() {
  if (!bytes_.empty()) std::memset(bytes_.data(), 0xff, bytes_.size());
  barrier();
}

void SharedMemory::outside(std::uint32_t address, std::size_t bytes) {
  if ((address & (bytes - 1)) != 0)
    problem_ = "an address in shared memory that is not aligned";
  else
    problem_ = "byte " + std::to_string(static_cast<std::int64_t>(address) - kShared) +
               " of shared memory, which has " + std::to_string(bytes_.size());
}

void SharedMemory::race(std::size_t word, const char* what, int other, int thread) {
  problem_ = "threads race for byte " + std::to_string(word * 4) + " of shared memory: thread " +
             std::to_string(thread) + " " + what + " " +
             (other == kSeveral ? "several" : "thread " + std::to_string(other));
}

}  // namespace lockstep::test::ptx
