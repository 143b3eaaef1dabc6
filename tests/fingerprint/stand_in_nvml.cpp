// A stand-in for the driver's libnvidia-ml.so.1, with GPUs as STAND_IN_GPUS describes them. Lines:
// the driver's version, the CUDA that it runs (12040); then of each GPU its ECC mode (1, 0 or -: it
// has none; p, f: on, and rows of memory wait to be remapped, or cannot be; x: it is lost, h:
// somebody else's), corrected and uncorrected errors, reasons for its clocks (a number), how it
// reaches each GPU (N: NVLink, P: PCIe, -: not, or itself) and its name.
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kDone = 0, kNotSupported = 3, kNoPermission = 4, kLost = 15;  // nvmlReturn_t

struct Gpu {
  std::string ecc, peers, name;
  unsigned long long corrected = 0, uncorrected = 0, reasons = 0;
};

struct Host {
  std::string driver;
  int cuda = 0;
  std::vector<Gpu> gpus;

  Host() {
    const char* text = std::getenv("STAND_IN_GPUS");
    std::istringstream lines(text == nullptr ? "" : text);
    lines >> driver >> cuda;
    for (Gpu gpu; lines >> gpu.ecc >> gpu.corrected >> gpu.uncorrected >> gpu.reasons >> gpu.peers;)
      if (std::getline(lines >> std::ws, gpu.name)) gpus.push_back(gpu);
  }
};

const Host& host() {
  static const Host one;
  return one;
}

const Gpu& gpu(const void* device) {
  return *static_cast<const Gpu*>(device);
}

int give(const std::string& from, char* to, unsigned size) {
  if (from.size() >= size) return kNotSupported;
  std::memcpy(to, from.c_str(), from.size() + 1);
  return kDone;
}

}  // namespace

#define NVML extern "C" __attribute__((visibility("default"))) int

NVML nvmlInit_v2() {
  return host().driver.empty() ? kNotSupported : kDone;
}
NVML nvmlShutdown() {
  return kDone;
}
NVML nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return give(host().driver, version, size);
}
NVML nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = host().cuda;
  return kDone;
}
NVML nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(host().gpus.size());
  return kDone;
}
NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, const void** device) {
  const Gpu& one = host().gpus.at(index);
  *device = &one;
  return one.ecc == "x" ? kLost : one.ecc == "h" ? kNoPermission : kDone;
}
NVML nvmlDeviceGetUUID(const void* device, char* uuid, unsigned size) {
  const auto index = &gpu(device) - host().gpus.data();
  return give("GPU-10000000-0000-0000-0000-00000000000" + std::to_string(index), uuid, size);
}
NVML nvmlDeviceGetRemappedRows(const void* device, unsigned* corrected, unsigned* uncorrected,
                               unsigned* pending, unsigned* failed) {
  const std::string& state = gpu(device).ecc;
  if (state == "-") return kNotSupported;
  *corrected = *uncorrected = 0;
  *pending = state == "p" || state == "f";
  *failed = state == "f";
  return kDone;
}
NVML nvmlDeviceGetName(const void* device, char* name, unsigned size) {
  return give(gpu(device).name, name, size);
}
NVML nvmlDeviceGetMaxClockInfo(const void*, int kind, unsigned* clock) {
  *clock = kind == 0 ? 1980 : 2619;
  return kDone;
}
NVML nvmlDeviceGetEccMode(const void* device, int* now, int* next) {
  if (gpu(device).ecc == "-") return kNotSupported;
  *now = *next = gpu(device).ecc != "0";
  return kDone;
}
NVML nvmlDeviceGetTotalEccErrors(const void* device, int type, int counter,
                                 unsigned long long* count) {
  if (gpu(device).ecc == "0" || gpu(device).ecc == "-" || counter != 0) return kNotSupported;
  *count = type == 0 ? gpu(device).corrected : gpu(device).uncorrected;
  return kDone;
}
NVML nvmlDeviceGetCurrentClocksThrottleReasons(const void* device, unsigned long long* reasons) {
  *reasons = gpu(device).reasons;
  return kDone;
}
NVML nvmlDeviceGetP2PStatus(const void* from, const void* to, int what, int* status) {
  const auto index = static_cast<std::size_t>(&gpu(to) - host().gpus.data());
  const char way = gpu(from).peers.at(index);
  constexpr int kReads = 0, kByNvLink = 2, kOk = 0, kChipset = 1;
  const bool can = (what == kReads && way != '-') || (what == kByNvLink && way == 'N');
  *status = can ? kOk : kChipset;
  return kDone;
}
