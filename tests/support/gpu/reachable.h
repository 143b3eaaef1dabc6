// Memory that kernels of make_gpu() read at the host's addresses, although `new` did not give it.
#pragma once

#include <cstddef>

namespace lockstep::test::gpu {

// While it lives, a GPU reaches these whole pages.
class Reachable {
 public:
  Reachable(void* pages, std::size_t bytes);
  ~Reachable();
  Reachable(const Reachable&) = delete;
  Reachable& operator=(const Reachable&) = delete;

 private:
  void* const pages_;  // null: none
};

}  // namespace lockstep::test::gpu
