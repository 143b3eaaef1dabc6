// The shared memory of a block. It knows of each word who touched it since the block's last
// barrier, so it finds two threads that nothing orders: a shuffle or a product of a warp does not
// (CUDA C++ Programming Guide, "Warp Shuffle Functions").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

  bool inside(std::uint32_t address, std::size_t bytes);
  Word& fresh(std::size_t word);
  template <class Visit>
  std::byte* access(std::uint32_t address, std::size_t bytes, const Visit& visit);
  static bool written_by_another(const Word& word, int thread);
  void race(std::size_t word, const char* what, int other, int thread);

  std::vector<std::byte> bytes_;
  std::vector<Word> words_;
  int interval_ = 0;
  std::string problem_;
};

}  // namespace lockstep::test::ptx
