#include "lockstep/fingerprint/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/ops/native.h"

namespace lockstep::fingerprint {
namespace {

const std::array kSettings = {
    // Without it MKL's products may depend on where matrices lie in memory.
    Setting{"MKL_CBWR",
            {"AUTO", "COMPATIBLE", "SSE2", "SSE4_2", "AVX", "AVX2", "AVX512", "AVX512_E1",
             "AVX2,STRICT", "AVX512,STRICT", "AVX512_E1,STRICT"},
            "MKL's reproducible mode"},
    Setting{"ONEDNN_DEFAULT_FPMATH_MODE", {"STRICT"}, "binary32 stays binary32"},
    Setting{"CUBLAS_WORKSPACE_CONFIG", {":4096:8", ":16:8"}, "cuBLAS's reproducible mode"},
    Setting{"NVIDIA_TF32_OVERRIDE", {"0"}, "binary32 stays binary32"},
    Setting{"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", {"0"}, "binary32 stays binary32"},
};

std::string words(const Setting& setting) {
  std::string list;
  for (const std::string_view word : setting.allowed)
    list += (list.empty() ? "" : " or ") + std::string(word);
  return list;
}

}  // namespace

std::span<const Setting> native_settings() {
  return kSettings;
}

void require_native_settings() {
  static const bool done = [] {
    for (const Setting& setting : kSettings) {
      const std::string name(setting.variable);
      const char* const value = std::getenv(name.c_str());
      if (value == nullptr) {
        setenv(name.c_str(), std::string(setting.allowed.front()).c_str(), 1);
      } else if (std::ranges::find(setting.allowed, value) == setting.allowed.end()) {
        throw Error(Code::kEnvironment,
                    name + "=" + value + ": native numerics need " + std::string(setting.why),
                    "leave it unset, or set it to " + words(setting));
      }
    }
    ops::prepare_native();
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace lockstep::fingerprint
