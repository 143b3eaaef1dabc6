#include "device.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/cuda.h"

namespace lockstep::cli {

OpenDevice open_device(const std::string& name, int threads, numerics::Isa isa) {
  if (name == "cpu") return {std::make_unique<numerics::Cpu>(threads, isa), at::kCPU};
  const std::int64_t number = name == "cuda"              ? 0
                              : name.starts_with("cuda:") ? parse_int(name.substr(5)).value_or(-1)
                                                          : -1;
  if (number < 0 || number > 127)
    throw Error(Code::kUsage, "--device: there is no device '" + name + "'",
                "use cpu, cuda or cuda:N");
  const int gpu = static_cast<int>(number);
  return {numerics::make_cuda(gpu), at::Device(at::kCUDA, static_cast<at::DeviceIndex>(gpu))};
}

}  // namespace lockstep::cli
