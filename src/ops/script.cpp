#include "lockstep/ops/script.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"

namespace lockstep::ops {

struct Script::Module {
  torch::jit::Module module;
};

namespace {

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n"), begin = text.rfind('\n', end);
  if (end == std::string::npos) return text;
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// Calls LibTorch outside of the guard's sight, on one thread. Its reasons may have many lines; the
// last says what is wrong.
template <class Call>
auto foreign(const std::string& what, const std::string& hint, const Call& call) {
  at::set_num_threads(1);
  const at::NoGradGuard no_gradients;
  const at::RecordFunctionGuard unobserved(false);
  try {
    return call();
  } catch (const c10::Error& error) {
    throw Error(Code::kUsage, what + ": " + last_line(error.what_without_backtrace()), hint);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(Code::kUsage, what + ": " + last_line(error.what()), hint);
  }
}

}  // namespace

Script::Script(ByteView file, std::string name)
    : module_(std::make_unique<Module>()), name_(std::move(name)) {
  foreign(name_ + ": LibTorch does not load it", "give a file that torch.jit.save wrote", [&] {
    std::istringstream stream(std::string(reinterpret_cast<const char*>(file.data()), file.size()));
    module_->module = torch::jit::load(stream, at::kCPU);
    module_->module.eval();
  });
}

Script::~Script() = default;

Tensor Script::operator()(const Tensor& pictures) {
  const Tensor host = to_host(pictures);
  const std::string given = "pictures of " + std::to_string(host.size(3)) + " x " +
                            std::to_string(host.size(1)) + " x " + std::to_string(host.size(2));
  return foreign(
      name_ + " fails on " + given, "it gets [n, channels, height, width] in [-1, 1]", [&] {
        const auto out = module_->module.forward({host.permute({0, 3, 1, 2}).contiguous()});
        if (!out.isTensor() || out.toTensor().dim() < 2 || out.toTensor().size(0) != host.size(0) ||
            out.toTensor().scalar_type() != at::kFloat)
          throw Error(Code::kUsage,
                      name_ + " gives no tensor of 32-bit floats with a row a picture",
                      "its forward returns features [n, …]");
        return out.toTensor().flatten(1).contiguous();
      });
}

}  // namespace lockstep::ops
