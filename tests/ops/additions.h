// An observer of LibTorch's own sums: in our graphs there are none.
#pragma once

#include <ATen/record_function.h>

#include <atomic>
#include <cstring>
#include <memory>

namespace lockstep::ops::testing {

// Counts LibTorch's additions (aten::add, add_, addmm, …) while it lives.
class Additions {
 public:
  Additions()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(
            [](const at::RecordFunction& f) -> std::unique_ptr<at::ObserverContext> {
              if (std::strncmp(f.name(), "aten::add", 9) == 0 ||
                  std::strncmp(f.name(), "aten::sum", 9) == 0)
                ++counted();
              return nullptr;
            }))) {
    counted() = 0;
  }
  ~Additions() { at::removeCallback(handle_); }
  int count() const { return counted(); }

 private:
  static std::atomic<int>& counted() {
    static std::atomic<int> count{0};
    return count;
  }
  at::CallbackHandle handle_;
};

}  // namespace lockstep::ops::testing
