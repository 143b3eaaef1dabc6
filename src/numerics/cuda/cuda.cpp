#include "lockstep/numerics/cuda.h"

#include "lockstep/core/error.h"
#include "lockstep/core/plugin.h"
#include "numerics/cuda/plugin.h"

namespace lockstep::numerics {
namespace {

const Plugin& plugin() {
  static const Plugin library(
      "cuda", "a GPU",
      "build it with CUDA (tools/bootstrap --cuda, then tools/build), use the "
      "wheel, or --device cpu",
      LOCKSTEP_THIS_INTERFACE, Plugin::Symbols::kPrograms);
  return library;
}

// Calls a function of the plug-in, whose last argument is what went wrong.
template <class Function, class... Arguments>
void call(const char* name, const std::string& what, Arguments&... arguments) {
  const auto function = plugin().function<Function>(name);
  LOCKSTEP_ASSERT(function != nullptr, name);
  cuda::Problem problem;
  function(arguments..., problem);
  if (!problem.message.empty())
    throw Error(Code::kEnvironment, what + ": " + problem.message, problem.hint);
}

std::string name_of(int number) {
  return "cuda:" + std::to_string(number);
}

}  // namespace

int count_gpus() {
  int count = 0;
  call<cuda::Count>(cuda::kCount, "GPUs", count);
  return count;
}

Gpu open_gpu(int number, int threads, double patience, int cut_for) {
  Gpu opened;
  call<cuda::Open>(cuda::kOpen, name_of(number), number, threads, patience, cut_for, opened);
  return opened;
}

void require_gpu(int number) {
  call<cuda::Needs>(cuda::kNeeds, name_of(number), number);
}

std::string gpu_uuid(int number) {
  std::string uuid;
  call<cuda::Uuid>(cuda::kUuid, name_of(number), number, uuid);
  return uuid;
}

}  // namespace lockstep::numerics
