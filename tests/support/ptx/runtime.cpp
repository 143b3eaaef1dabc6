// A stand-in for CUDA's runtime: its kernels are interpreted PTX (warp.h), its memory the host
// cannot read (support/far_device/memory.h), its streams work when somebody waits and in any order
// that events leave (support/gpu/stream.h). It has the functions that our plug-in and its tests
// call. Two GPUs, or those of CUDA_VISIBLE_DEVICES, which share everything. LOCKSTEP_PTX_LOST_AT=N:
// the kernel after N others does what no GPU survives; LOCKSTEP_PTX_HANGS_AT=N: it never ends.
// LOCKSTEP_PTX_UNAVAILABLE=N: nobody gets a GPU, by CUDA's error N.
// LOCKSTEP_PTX_WRONG=N: GPU N rounds an fma twice. LOCKSTEP_PTX_OTHER=N: GPU N is of another kind.
// LOCKSTEP_PTX_MEMORY: so many KiB. LOCKSTEP_PTX_LOADING: looks at streams wait for
// all work, as behind a thread that loads a kernel.
// Here: the program's kernels, launches, devices.
#include "support/ptx/runtime.h"

#include <fatbinary_section.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include "support/ptx/grid.h"
#include "support/ptx/operations.h"
#include "support/ptx/profile.h"

namespace lockstep::test::ptx {
namespace {
thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_gpu = 0;

// CUDA would take the null stream of another GPU: here a process has one.
void require_the_gpu() {
  static const int first = current_gpu;
  if (current_gpu != first)
    die("a thread works on GPU " + std::to_string(current_gpu) + ", and the process on " +
        std::to_string(first) + ": no cudaSetDevice");
}
}  // namespace

Runtime& runtime() {
  static auto& one = *new Runtime;
  return one;
}

bool lost() {
  return runtime().lost;
}

void wait_if_it_hangs() {
  while (runtime().hangs) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void queue_another() {
  constexpr int kMost = 1000;
  static std::atomic<int> behind = 0;
  if (runtime().hangs && ++behind > kMost) wait_if_it_hangs();
}

std::optional<Streams::Stream> known(cudaStream_t handle) {
  if (lost()) return std::nullopt;
  require_the_gpu();
  auto stream = reinterpret_cast<Streams::Stream>(handle);
  if (handle == cudaStreamLegacy) stream = Streams::kNull;
  Streams& all = runtime().streams;
  if (!all.knows(stream) || all.forbids(stream)) return std::nullopt;
  return stream;
}
std::optional<Streams::Stream> working(cudaStream_t handle) {
  const auto stream = known(handle);
  if (!stream || !runtime().streams.captures(*stream)) return stream;
  const std::scoped_lock lock(runtime().mutex);
  runtime().spoilt.insert(*stream);
  return std::nullopt;
}
cudaError_t failed(cudaError_t error) {
  return last_error = lost() ? cudaErrorIllegalAddress : error;
}

std::optional<Streams::Event> known(cudaEvent_t handle) {
  const auto event = reinterpret_cast<Streams::Event>(handle);
  if (lost() || !runtime().streams.knows_event(event)) return std::nullopt;
  return event;
}

}  // namespace lockstep::test::ptx

namespace {

using namespace lockstep::test;
using ptx::failed;
using ptx::known;
using ptx::Runtime;
using ptx::runtime;

// Few, so that small products take more than one round of them; an H100's, if its time or its
// launches are asked for.
int multiprocessors() {
  return ptx::listing() ? 132 : 3;
}

// Bytes of a block: an H100's, or those of compute capability 8.0. LOCKSTEP_PTX_SHARED: so many
// KiB.
int most_shared() {
  static const char* const wanted = std::getenv("LOCKSTEP_PTX_SHARED");
  if (wanted != nullptr) return std::atoi(wanted) * 1024;
  return (ptx::listing() ? 227 : 163) * 1024;
}

// A GPU as this process sees it.
struct Seen {
  int gpu;
  int instance;  // of MIG; 0: the whole GPU
};

// CUDA_VISIBLE_DEVICES as CUDA reads it: in its order, up to the first that is not there. "MIG-1"
// and "MIG-2" are instances of GPU 0.
std::vector<Seen> look_around() {
  const char* const asked = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<Seen> all;
  std::istringstream names(asked != nullptr ? asked : "0,1");
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "0" || name == "1")
      all.push_back({name[0] - '0', 0});
    else if (name == "MIG-1" || name == "MIG-2")
      all.push_back({0, name[4] - '0'});
    else
      break;
  }
  return all;
}
const std::vector<Seen>& seen() {
  static const auto& all = *new std::vector<Seen>(look_around());
  return all;
}
bool sees(int number) {
  return number >= 0 && number < static_cast<int>(seen().size());
}

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

bool is_at(const char* place, std::uint64_t launches) {
  return place != nullptr && launches == std::strtoull(place, nullptr, 10);
}
bool is_last(std::uint64_t launches) {
  static const char* const last = std::getenv("LOCKSTEP_PTX_LOST_AT");
  return is_at(last, launches);
}
bool hangs(std::uint64_t launches) {
  static const char* const last = std::getenv("LOCKSTEP_PTX_HANGS_AT");
  return is_at(last, launches);
}

// cudaSuccess, or why nobody gets a GPU.
cudaError_t why_unavailable() {
  static const char* const asked = std::getenv("LOCKSTEP_PTX_UNAVAILABLE");
  return asked == nullptr ? cudaSuccess : static_cast<cudaError_t>(std::atoi(asked));
}

bool is_wrong(int gpu) {
  static const char* const wrong = std::getenv("LOCKSTEP_PTX_WRONG");
  return wrong != nullptr && gpu == std::atoi(wrong);
}

bool blocking() {
  static const char* const asked = std::getenv("CUDA_LAUNCH_BLOCKING");
  return asked != nullptr && std::string(asked) == "1";
}

// The PTX in a fat binary that was not compressed.
std::string text_of(const void* binary) {
  struct Header {
    std::uint32_t magic;
    std::uint16_t version, bytes;
    std::uint64_t size;
  } header;
  std::memcpy(&header, binary, sizeof header);
  const std::string_view all(static_cast<const char*>(binary), header.bytes + header.size);
  const std::size_t start = all.find(".version ");
  if (start == all.npos) ptx::die("a fat binary without PTX: nvcc --no-compress");
  return std::string(all.substr(start, all.find('\0', start) - start));
}

// The bytes that a kernel's parameters have now.
std::vector<std::vector<char>> kept(const ptx::Function& kernel, void** arguments) {
  std::vector<std::vector<char>> all;
  for (const int parameter : kernel.parameters) {
    const auto* const first = static_cast<const char*>(*arguments++);
    all.emplace_back(first, first + kernel.variables[static_cast<std::size_t>(parameter)].bytes);
  }
  return all;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  const auto* const control = static_cast<const __fatBinC_Wrapper_t*>(wrapper);
  auto module = std::make_unique<ptx::Module>(text_of(control->data));
  const std::scoped_lock lock(runtime().mutex);
  runtime().modules.push_back(std::move(module));
  return reinterpret_cast<void**>(runtime().modules.back().get());
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const std::scoped_lock lock(runtime().mutex);
  runtime().kernels[host] = {reinterpret_cast<ptx::Module*>(handle), name};
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t called, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t handle) {
  Runtime& all = runtime();
  const auto stream = known(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  const ptx::Function* kernel = nullptr;
  std::size_t most_shared = 0;
  std::uint64_t seed = 0;
  {
    const std::scoped_lock lock(all.mutex);
    const Runtime::Kernel& found = all.kernels.at(reinterpret_cast<const void*>(called));
    // Allowed, but then it may wait for all of the GPU's work, and all calls for it: nobody wants
    // that.
    if (!found.loaded) return failed(cudaErrorLaunchPendingCountExceeded);
    kernel = &found.module->function(found.name);
    most_shared = found.most_shared;
    seed = all.launches++;
    if (is_last(seed)) {
      all.lost = true;
      return cudaSuccess;  // the next call tells
    }
    if (hangs(seed)) all.hangs = true;
    ptx::queue_another();
  }
  if (grid.y != 1 || grid.z != 1 || block.y != 1 || block.z != 1 || block.x > 1024 ||
      block.x == 0 || grid.x == 0 || grid.x > 0x7fffffffU || shared > most_shared)
    return failed(cudaErrorInvalidConfiguration);
  all.streams.launch(*stream,
                     [kernel, grid, block, shared, seed, values = kept(*kernel, arguments)] {
                       std::vector<const void*> places;
                       for (const auto& value : values) places.push_back(value.data());
                       ptx::run_grid(*kernel, places.data(), grid.x, block.x, shared, seed);
                     });
  if (blocking()) all.streams.wait(*stream);
  return cudaSuccess;
}

// CUDA Programming Guide, "Lazy Loading": loads the kernel, if it is not.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* facts, const void* host) {
  Runtime& all = runtime();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.kernels.find(host);
  if (found == all.kernels.end()) return failed(cudaErrorInvalidDeviceFunction);
  found->second.loaded = true;
  *facts = {};
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute what, int value) {
  if (what != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > most_shared())
    return failed(cudaErrorInvalidValue);
  Runtime& all = runtime();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.kernels.find(host);
  if (found == all.kernels.end()) return failed(cudaErrorInvalidDeviceFunction);
  found->second.most_shared = static_cast<std::size_t>(value);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(ptx::last_error, cudaSuccess);
}
const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorIllegalAddress) return "an illegal memory access was encountered";
  return error == cudaSuccess ? "no error" : "an error of the stand-in for CUDA's runtime";
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(seen().size());
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver / 1000 < CUDART_VERSION / 1000) return failed(cudaErrorInsufficientDriver);
  if (why_unavailable() == cudaErrorUnknown) return failed(cudaErrorUnknown);
  return *count > 0 ? cudaSuccess : failed(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int number) {
  if (!sees(number) || ptx::lost()) return failed(cudaErrorInvalidDevice);
  if (why_unavailable() != cudaSuccess) return failed(why_unavailable());
  ptx::current_gpu = number;
  if (is_wrong(seen()[static_cast<std::size_t>(number)].gpu)) ptx::fma_is_broken = true;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* number) {
  *number = ptx::current_gpu;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int number) {
  if (!sees(number)) return failed(cudaErrorInvalidDevice);
  const int gpu = seen()[static_cast<std::size_t>(number)].gpu;  // an instance has its GPU's
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", gpu);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  const char* const wanted = std::getenv("LOCKSTEP_PTX_DRIVER");  // tests bring another
  *version = wanted != nullptr ? std::atoi(wanted) : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* facts, int number) {
  if (!sees(number)) return failed(cudaErrorInvalidDevice);
  *facts = {};
  facts->uuid.bytes[0] = 0x10;
  facts->uuid.bytes[14] = static_cast<char>(seen()[static_cast<std::size_t>(number)].instance);
  facts->uuid.bytes[15] = static_cast<char>(seen()[static_cast<std::size_t>(number)].gpu);
  const char* const other = std::getenv("LOCKSTEP_PTX_OTHER");
  const int gpu = seen()[static_cast<std::size_t>(number)].gpu;
  std::strcpy(facts->name,
              other != nullptr && gpu == std::atoi(other) ? "another" : "interpreted PTX");
  facts->major = 8;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  switch (what) {
    case cudaDevAttrMultiProcessorCount:
      *value = multiprocessors();
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = most_shared();
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: {
      const char* const wanted = std::getenv("LOCKSTEP_PTX_CAPABILITY");
      *value = wanted != nullptr ? std::atoi(wanted) : 8;
      return cudaSuccess;
    }
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported:
      *value = std::getenv("LOCKSTEP_PTX_NO_POOLS") == nullptr;
      return cudaSuccess;
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      *value = 1;
      return cudaSuccess;
    default:
      return failed(cudaErrorInvalidValue);
  }
}

}  // extern "C"
#pragma GCC visibility pop
