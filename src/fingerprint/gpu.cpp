#include "fingerprint/gpu.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>

namespace lockstep::fingerprint {
namespace {

class Library {
 public:
  Library(const char* name, int mode) : handle_(dlopen(name, RTLD_LAZY | RTLD_LOCAL | mode)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }
  // Calls a function of C if the library has it; -1 if not.
  template <class... Arguments>
  int call(const char* function, Arguments... arguments) const {
    const auto address = dlsym(handle_, function);
    return address == nullptr ? -1 : reinterpret_cast<int (*)(Arguments...)>(address)(arguments...);
  }
  template <class Result>
  Result ask(const char* function) const {
    const auto address = dlsym(handle_, function);
    return address == nullptr ? Result{} : reinterpret_cast<Result (*)()>(address)();
  }

 private:
  void* handle_;
};

std::string thousands(std::size_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Libraries that this process has loaded: others cannot change its bits.
void add_loaded(Fingerprint& facts) {
  if (const Library runtime("libcudart.so.13", RTLD_NOLOAD); runtime) {
    int version = 0;
    if (runtime.call("cudaRuntimeGetVersion", &version) == 0)
      facts.emplace_back("cuda", thousands(static_cast<std::size_t>(version)));
  }
  if (const Library cudnn("libcudnn.so.9", RTLD_NOLOAD); cudnn)
    facts.emplace_back("cudnn", std::to_string(cudnn.ask<std::size_t>("cudnnGetVersion")));
  if (const Library cublas("libcublasLt.so.13", RTLD_NOLOAD); cublas)
    facts.emplace_back("cublas", std::to_string(cublas.ask<std::size_t>("cublasLtGetVersion")));
}

// NVML's numbers: nvml.h.
constexpr int kGraphicsClock = 0, kMemoryClock = 2;

std::string clock(const Library& nvml, void* device, int kind) {
  unsigned now = 0, most = 0;
  if (nvml.call("nvmlDeviceGetApplicationsClock", device, kind, &now) != 0) now = 0;
  if (nvml.call("nvmlDeviceGetMaxClockInfo", device, kind, &most) != 0) return "unknown";
  return (now == 0 ? "default" : std::to_string(now)) + " of " + std::to_string(most) + " MHz";
}

void add_devices(const Library& nvml, Fingerprint& facts) {
  std::array<char, 96> text{};
  if (nvml.call("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size())) == 0)
    facts.emplace_back("driver", text.data());
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device) != 0) continue;
    const std::string name = "gpu." + std::to_string(i);
    if (nvml.call("nvmlDeviceGetName", device, text.data(), static_cast<unsigned>(text.size())) ==
        0)
      facts.emplace_back(name, text.data());
    facts.emplace_back(name + ".clock", clock(nvml, device, kGraphicsClock));
    facts.emplace_back(name + ".memory_clock", clock(nvml, device, kMemoryClock));
    int now = 0, next = 0;
    const bool has_ecc = nvml.call("nvmlDeviceGetEccMode", device, &now, &next) == 0;
    facts.emplace_back(name + ".ecc", !has_ecc ? "none" : now == 1 ? "on" : "off");
  }
}

}  // namespace

Fingerprint gpu_facts() {
  Fingerprint facts;
  add_loaded(facts);
  const Library nvml("libnvidia-ml.so.1", 0);
  if (nvml && nvml.call("nvmlInit_v2") == 0) {
    add_devices(nvml, facts);
    nvml.call("nvmlShutdown");
  } else {
    facts.emplace_back("gpu", "none");
  }
  return facts;
}

}  // namespace lockstep::fingerprint
