#include "lockstep/fingerprint/gpus.h"

#include <array>

#include "fingerprint/library.h"

namespace lockstep::fingerprint {
namespace {

// NVML's numbers: nvml.h.
constexpr int kGraphicsClock = 0, kMemoryClock = 2;
constexpr int kCorrected = 0, kUncorrected = 1, kSinceDriverLoaded = 0;
constexpr int kReads = 0, kByNvLink = 2;
constexpr int kNoPermission = 4;

std::string clock(const Library& nvml, void* device, int kind) {
  unsigned now = 0, most = 0;
  if (nvml.call("nvmlDeviceGetApplicationsClock", device, kind, &now) != 0) now = 0;
  if (nvml.call("nvmlDeviceGetMaxClockInfo", device, kind, &most) != 0) return "unknown";
  return (now == 0 ? "default" : std::to_string(now)) + " of " + std::to_string(most) + " MHz";
}

std::optional<std::uint64_t> errors(const Library& nvml, void* device, int kind) {
  unsigned long long count = 0;
  if (nvml.call("nvmlDeviceGetTotalEccErrors", device, kind, int{kSinceDriverLoaded}, &count) != 0)
    return std::nullopt;
  return count;
}

std::uint64_t reasons(const Library& nvml, void* device) {
  unsigned long long bits = 0;
  for (const char* function :  // the name since driver 535, and the one before
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"})
    if (nvml.call(function, device, &bits) == 0) return bits;
  return 0;
}

Gpu::Peer peer(const Library& nvml, void* from, void* to) {
  if (from == to) return Gpu::Peer::kItself;
  const auto can = [&](int what) {
    int status = -1;  // 0: it can
    return nvml.call("nvmlDeviceGetP2PStatus", from, to, what, &status) == 0 && status == 0;
  };
  return can(kByNvLink) ? Gpu::Peer::kNvLink : can(kReads) ? Gpu::Peer::kPcie : Gpu::Peer::kNone;
}

std::string text(const Library& nvml, const char* function, void* device) {
  std::array<char, 96> text{};
  const bool told =
      nvml.call(function, device, text.data(), static_cast<unsigned>(text.size())) == 0;
  return told ? text.data() : "";
}

Gpu describe(const Library& nvml, void* device) {
  Gpu gpu;
  gpu.name = text(nvml, "nvmlDeviceGetName", device);
  gpu.uuid = text(nvml, "nvmlDeviceGetUUID", device);
  gpu.clock = clock(nvml, device, kGraphicsClock);
  gpu.memory_clock = clock(nvml, device, kMemoryClock);
  int now = 0, next = 0;
  if (nvml.call("nvmlDeviceGetEccMode", device, &now, &next) == 0)
    gpu.ecc = now == 1 ? Gpu::Ecc::kOn : Gpu::Ecc::kOff;
  gpu.corrected = errors(nvml, device, kCorrected);
  gpu.uncorrected = errors(nvml, device, kUncorrected);
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (nvml.call("nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected, &pending, &failed) ==
      0) {
    gpu.remapping_pending = pending != 0;
    gpu.remapping_failed = failed != 0;
  }
  gpu.reasons = reasons(nvml, device);
  return gpu;
}

void ask_driver(const Library& nvml, Gpus& gpus) {
  std::array<char, 96> text{};
  if (nvml.call("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size())) == 0)
    gpus.driver = text.data();
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &gpus.cuda_driver) != 0) gpus.cuda_driver = 0;
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  std::vector<void*> devices;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    const int error = nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device);
    if (error == 0) {
      devices.push_back(device);
      gpus.list.push_back(describe(nvml, device));
      gpus.list.back().index = static_cast<int>(i);
    } else if (error != kNoPermission) {  // one that others have
      gpus.lost.push_back({static_cast<int>(i), error});
    }
  }
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (void* other : devices) gpus.list[i].peers.push_back(peer(nvml, devices[i], other));
}

}  // namespace

Gpus find_gpus() {
  Gpus gpus;
  if (const Library runtime({"libcudart.so.13", "libcudart.so.12"}, RTLD_NOLOAD); runtime)
    if (runtime.call("cudaRuntimeGetVersion", &gpus.cuda_runtime) != 0) gpus.cuda_runtime = 0;
  const Library nvml({"libnvidia-ml.so.1"}, 0);
  const int error = nvml ? nvml.call("nvmlInit_v2") : 0;
  if (!nvml) {
    gpus.unknown = "no libnvidia-ml.so.1 (containers: NVIDIA_DRIVER_CAPABILITIES=compute,utility)";
  } else if (error != 0) {
    gpus.unknown = "NVML error " + std::to_string(error) + " (nvidia-smi says more)";
  } else {
    ask_driver(nvml, gpus);
    nvml.call("nvmlShutdown");
  }
  return gpus;
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace lockstep::fingerprint
