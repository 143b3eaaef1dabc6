#include "lockstep/fingerprint/settings.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/ops/native.h"

namespace lockstep::fingerprint {
namespace {

constexpr std::string_view kBinary32 = "binary32 to stay binary32";
constexpr std::string_view kChoice = "the libraries' own choice of kernels";

std::string words(const Setting& setting) {
  std::string list;
  for (const std::string_view word : setting.allowed)
    if (!word.empty()) list += (list.empty() ? "" : " or ") + std::string(word);
  return list;
}

void require(const Setting& setting) {
  const std::string name(setting.variable);
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) {
    const std::string first(setting.allowed.front());
    if (!first.empty()) setenv(name.c_str(), first.c_str(), 1);
  } else if (std::ranges::find(setting.allowed, value) == setting.allowed.end()) {
    throw Error(
        Code::kEnvironment,
        name + "=" + value + ": native numerics need " + std::string(setting.why),
        "leave it unset" + (words(setting).empty() ? "" : ", or set it to " + words(setting)));
  }
}

// An operation that lacks memory may choose another kernel, of other bits. LibTorch's own allocator
// counts that (ops/native_memory.h), CUDA's does not.
void require_own_allocator() {
  const auto refuse = [](const std::string& name, const std::string& value, const char* hint) {
    throw Error(Code::kEnvironment,
                name + "=" + value + ": native numerics need LibTorch's own allocator", hint);
  };
  for (const char* const name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    std::string tokens = value;
    std::erase(tokens, ' ');  // as LibTorch reads it
    if (tokens.find("backend:cudaMalloc") != std::string::npos)
      refuse(name, value, "leave out the backend");
  }
  constexpr const char* kNone = "PYTORCH_NO_CUDA_MEMORY_CACHING";  // whatever its value
  if (const char* const value = std::getenv(kNone)) refuse(kNone, value, "leave it unset");
}

}  // namespace

std::vector<Setting> native_settings(ops::Precision precision) {
  std::vector<Setting> settings = {
      // Without it MKL's products may depend on where matrices lie in memory.
      {"MKL_CBWR",
       {"AUTO", "COMPATIBLE", "SSE2", "SSE4_2", "AVX", "AVX2", "AVX512", "AVX512_E1", "AVX2,STRICT",
        "AVX512,STRICT", "AVX512_E1,STRICT"},
       "MKL's reproducible mode"},
      {"ONEDNN_DEFAULT_FPMATH_MODE", {"STRICT"}, kBinary32},
      {"CUBLAS_WORKSPACE_CONFIG", {":4096:8", ":16:8"}, "cuBLAS's reproducible mode"},
      {"CUBLAS_EMULATE_SINGLE_PRECISION", {"", "0"}, kBinary32},
      {"CUDNN_CONV_WSCAP_DBG", {""}, kChoice},
      {"CUDNN_ERRATA_JSON_FILE", {""}, kChoice},
      {"PYTORCH_TUNABLEOP_ENABLED", {"", "0"}, kChoice},
      {"TORCH_BLAS_PREFER_CUBLASLT", {""}, kChoice},
      {"DISABLE_ADDMM_CUDA_LT", {""}, kChoice},
      {"CUBLASLT_WORKSPACE_SIZE", {""}, kChoice},
      {"TORCH_CUBLASLT_UNIFIED_WORKSPACE", {""}, kChoice},
      {"TORCH_CUDNN_USE_HEURISTIC_MODE_B", {""}, kChoice},
      {"TORCH_CUDNN_V8_API_DISABLED", {""}, kChoice},
  };
  if (precision == ops::Precision::kTf32) {
    settings.push_back({"NVIDIA_TF32_OVERRIDE", {"", "1"}, "TF32, as the recipe says"});
  } else {
    settings.push_back({"NVIDIA_TF32_OVERRIDE", {"0"}, kBinary32});
    settings.push_back({"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", {"0"}, kBinary32});
  }
  return settings;
}

void require_native_settings(ops::Precision precision) {
  static std::mutex mutex;
  static std::optional<bool> with_tf32;  // what the libraries of this process were told
  const std::lock_guard lock(mutex);
  const bool tf32 = precision == ops::Precision::kTf32;
  if (with_tf32 == tf32) return;
  if (with_tf32)
    throw Error(Code::kEnvironment,
                std::string("native numerics have begun ") + (*with_tf32 ? "with" : "without") +
                    " TF32 in this process, and the libraries do not change that",
                "start another process for this recipe");
  for (const Setting& setting : native_settings(precision)) require(setting);
  require_own_allocator();
  const char* const fill = std::getenv("LOCKSTEP_FILL_MEMORY");
  const bool fills = fill != nullptr && std::string_view(fill) == "1";
  if (fills) log::info("LibTorch fills fresh memory with NaNs");
  ops::prepare_native(precision, fills);
  with_tf32 = tf32;
}

}  // namespace lockstep::fingerprint
