#include "train/captured.h"

#include <algorithm>
#include <exception>
#include <string>

#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"

namespace lockstep::train {
namespace {

std::int64_t bytes_left() {
  const auto left = ops::memory_left(1);
  return left ? left->bytes : INT64_MAX;
}

}  // namespace

objective::Batch CapturedPhases::in_place(const objective::Batch& batch) {
  if (!batch_.values.defined()) return batch;
  batch_.first = batch.first;
  batch_.values.copy_(batch.values);
  if (batch.condition.defined()) batch_.condition.copy_(batch.condition);
  return batch_;
}

PhaseResult CapturedPhases::operator()(const std::string& phase, const objective::Batch& batch,
                                       std::int64_t room,
                                       const std::function<PhaseResult()>& compute) {
  One& one = phases_[phase];
  if (!one.work) {
    if (!captures_ || !one.called) {
      one.called = true;
      return compute();
    }
    batch_ = batch;
    one.first = batch.first;
    if (!capture(one, room, compute)) return compute();
    log::info("the calls of " + phase + " are captured");
  }
  one.work->launch(static_cast<std::uint64_t>(batch.first - one.first));
  return one.result;
}

bool CapturedPhases::capture(One& one, std::int64_t room,
                             const std::function<PhaseResult()>& compute) {
  const std::int64_t before = bytes_left();
  std::string why;
  try {
    one.work = ops::device().capture([&] { one.result = compute(); });
    // What is taken by calls, another phase, pictures or a checkpoint may come any time.
    const std::int64_t left = bytes_left(), needed = std::max(room, before - left);
    if (left < needed)
      why = "it leaves " + human_bytes(static_cast<double>(left)) + ", and calls take up to " +
            human_bytes(static_cast<double>(needed));
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (one.work && why.empty()) return true;
  captures_ = false;
  batch_ = {};
  for (auto& [name, phase] : phases_) {  // their memory is needed for calls
    phase.result = {};
    phase.work = nullptr;
  }
  if (!why.empty()) {
    bytes_left();  // where the GPU is lost, that is the error
    log::warn("a step's calls are not captured, which is slower: " + why);
  }
  return false;
}

}  // namespace lockstep::train
