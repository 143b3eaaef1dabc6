#include "support/ptx/clock.h"

#include <algorithm>

namespace lockstep::test::ptx {
namespace {

constexpr std::size_t kGrain = 64;  // bytes of the smallest register
constexpr std::uint64_t kBarrier = 20;

}  // namespace

Clock::Clock(const Function& kernel) {
  enter(kernel);
}

void Clock::begin() {
  ready_.resize(1);
  std::fill(ready_[0].begin(), ready_[0].end(), 0);
  floor_ = latest_ = issued_ = copied_ = 0;
  groups_.clear();
}

void Clock::enter(const Function& function) {
  ready_.emplace_back(function.register_bytes / kGrain + 1);
  go_on_at(latest_);
}

void Clock::leave() {
  ready_.pop_back();
  go_on_at(latest_);
}

void Clock::go_on_at(std::uint64_t clock) {
  floor_ = latest_ = std::max(latest_, clock);
  issued_ = 0;
}

std::uint64_t Clock::when_ready(const Instruction& i) const {
  const std::vector<std::uint64_t>& ready = ready_.back();
  std::uint64_t when = floor_;
  for (std::size_t n = i.results; n < std::size_t{i.results} + i.operands; ++n)
    when = std::max(when, ready[i.slots[n] / kGrain]);
  if (i.guarded) when = std::max(when, ready[i.guard / kGrain]);
  return when;
}

void Clock::issue(const Instruction& i) {
  using Kind = Instruction::Kind;
  const std::uint64_t when = when_ready(i);
  issued_ += i.issued;
  latest_ = std::max({latest_, when, floor_ + issued_});
  for (std::size_t n = 0; n < i.results; ++n) ready_.back()[i.slots[n] / kGrain] = when + i.latency;
  switch (i.copies) {
    case Instruction::Copies::kNone:
      break;
    case Instruction::Copies::kBegin:
      copied_ = std::max(copied_, when + i.latency);
      break;
    case Instruction::Copies::kCommit:
      groups_.push_back(copied_);
      break;
    case Instruction::Copies::kWait:
      if (const auto newest = static_cast<std::size_t>(i.newest); groups_.size() > newest)
        go_on_at(groups_[groups_.size() - 1 - newest]);
  }
  if (i.kind == Kind::kBranch || i.kind == Kind::kReturn) go_on_at(latest_ + 1);
  if (i.kind == Kind::kBarrier) go_on_at(latest_ + kBarrier);
}

}  // namespace lockstep::test::ptx
