#include "ops/native_errors.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/memory.h"
#include "ops/native_memory.h"

namespace lockstep::ops::native {
namespace {

constexpr const char* kAfterwards =
    "`lockstep doctor --device cuda` looks at the GPU; a run goes on from its last checkpoint";

bool has_any(std::string_view text, const auto& words) {
  return std::ranges::any_of(
      words, [&](const char* word) { return text.find(word) != std::string_view::npos; });
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Where cuBLAS fails, LibTorch warns and takes another kernel (aten/src/ATen/cuda/CUDABlas.cpp,
// "Will attempt to recover"). Of shapes that a kernel is not made for it does so every time.
class Recoveries final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    constexpr std::array every_time = {"NOT_SUPPORTED", "INVALID_VALUE", "ARCH_MISMATCH"};
    const std::string& what = warning.msg();
    if (what.find("attempt to recover") != std::string::npos && !has_any(what, every_time))
      seen_ = first_line(what);
    else
      others_->process(warning);
  }
  void require_none() const {
    if (!seen_.empty())
      throw Error(Code::kEnvironment, "LibTorch took another kernel, of other bits: " + seen_,
                  kAfterwards);
  }

 private:
  c10::WarningHandler* const others_ = c10::WarningUtils::get_warning_handler();
  std::string seen_;
};

[[noreturn]] void throw_ours(const std::exception& error, const std::string& what) {
  // The host's; CUDA's; cuBLAS's and cuDNN's.
  constexpr std::array lacks = {"allocate memory", "out of memory", "ALLOC_FAILED",
                                "ALLOCATION_FAILED"};
  if (has_any(what, lacks)) throw std::bad_alloc();
  if (dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr)
    throw Error(Code::kEnvironment, "LibTorch: " + first_line(what), kAfterwards);
  if (on_gpu()) gpu_memory().left();  // a GPU that is lost tells so here
  throw Error(Code::kBug, "LibTorch: " + first_line(what));
}

}  // namespace

void with_our_errors(const std::function<void()>& call) {
  try {
    Recoveries recoveries;
    const c10::WarningUtils::WarningHandlerGuard here(&recoveries);
    with_enough_memory(call);
    recoveries.require_none();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::OutOfMemoryError&) {  // a GPU's
    throw std::bad_alloc();
  } catch (const c10::Error& error) {
    throw_ours(error, error.what_without_backtrace());
  } catch (const std::exception& error) {  // cuDNN's own
    throw_ours(error, error.what());
  }
}

}  // namespace lockstep::ops::native
