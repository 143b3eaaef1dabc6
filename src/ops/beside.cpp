#include "lockstep/ops/beside.h"

#include <ATen/core/grad_mode.h>

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "lockstep/core/thread.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/where.h"
#include "ops/surroundings.h"

namespace lockstep::ops {
namespace {

class Bodies {
 public:
  using Body = std::function<void(std::size_t, const Stopped&)>;

  Bodies(std::size_t count, const Body& body) : body_(body), failed_(count), failures_(count) {
    const auto threads = static_cast<std::size_t>(device().host().threads());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t share = threads / count + (i < threads % count ? 1 : 0);
      devices_.push_back(device().clone(share > 0 ? static_cast<int>(share) : 1));
    }
  }

  void run() {
    {
      std::vector<std::jthread> others;
      try {
        for (std::size_t i = 1; i < devices_.size(); ++i)
          others.push_back(start_thread<std::jthread>([this, i] { one(i); }));
      } catch (...) {
        failed(0, std::current_exception());
      }
      if (failed_ > 0) one(0);
    }
    for (const std::exception_ptr& failure : failures_)
      if (failure) std::rethrow_exception(failure);
  }

 private:
  void one(std::size_t i) {
    try {
      const DeviceScope here(*devices_[i], place_.tensors);
      const NumericsScope kernels(numerics_);
      const Scope module(module_);
      const at::AutoGradMode history(history_);
      const auto work = [&] { body_(i, [&] { return failed_ < i; }); };
      // A guard a body: the one whose operator is named does not depend on who was first.
      if (guard_ != nullptr)
        guarded(guard_->during(), work);
      else
        work();
    } catch (...) {
      failed(i, std::current_exception());
    }
  }

  void failed(std::size_t i, const std::exception_ptr& failure) {
    failures_[i] = failure;
    for (std::size_t first = failed_; i < first && !failed_.compare_exchange_weak(first, i);) {
    }
  }

  const Body& body_;
  const Place place_ = thread_place();
  const Numerics numerics_ = thread_numerics();
  const Guard* const guard_ = thread_guard();
  const std::string module_ = where().module;
  const bool history_ = at::GradMode::is_enabled();
  std::vector<std::unique_ptr<numerics::Device>> devices_;
  std::atomic<std::size_t> failed_;  // the first that did
  std::vector<std::exception_ptr> failures_;
};

}  // namespace

int threads_beside() {
  if (thread_listener() != nullptr || thread_numerics().native || !tensors_device().is_cpu())
    return 1;
  return device().host().threads();
}

void side_by_side(std::size_t count,
                  const std::function<void(std::size_t i, const Stopped& stopped)>& body) {
  if (count == 1) return body(0, [] { return false; });
  Bodies(count, body).run();
}

}  // namespace lockstep::ops
