#include "support/ptx/warp.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "support/gpu/matrices.h"

namespace lockstep::test::ptx {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr const char* kNotAll = "not all threads of a warp reach what all must reach";

template <class T>
void fill(T* lanes, std::uint64_t value) {
  std::fill_n(lanes, kLanes, static_cast<T>(value));
}

}  // namespace

Frame::Frame(const Function& function)
    : function_(function),
      registers_(static_cast<std::byte*>(std::aligned_alloc(
          kAlignment, (function.register_bytes + kAlignment - 1) / kAlignment * kAlignment))),
      local_(function.local_bytes * kLanes) {
  std::memset(registers_.get(), 0xff, function.register_bytes);
  for (const Constant& c : function.constants) {
    if (c.bytes == 0) {
      *lanes<std::uint32_t>(c.slot) = c.value != 0 ? kAllLanes : 0;
    } else if (c.bytes == 8) {
      fill(lanes<std::uint64_t>(c.slot), c.value);
    } else {
      fill(lanes<std::uint32_t>(c.slot), c.value);
    }
  }
  if (!local_.empty()) {
    memory().add(local_.data(), local_.size());
    for (int l = 0; l < kLanes; ++l)
      lanes<std::uint64_t>(function.local)[l] = reinterpret_cast<std::uint64_t>(
          local_.data() + function.local_bytes * static_cast<std::size_t>(l));
  }
  std::size_t bytes = 0;
  for (const Variable& v : function.variables) bytes += (v.bytes + 15) / 16 * 16;
  memory_.resize(bytes * kLanes);
  char* at = memory_.data();
  for (const Variable& v : function.variables) {
    const std::size_t stride = (v.bytes + 15) / 16 * 16;
    variables_.push_back({at, stride});
    at += stride * kLanes;
  }
  if (!function.addresses.empty()) memory().add(memory_.data(), memory_.size());
  for (const Address& address : function.addresses)
    for (int l = 0; l < kLanes; ++l)
      lanes<std::uint64_t>(address.slot)[l] =
          reinterpret_cast<std::uint64_t>(variable(address.variable, function.kernel ? 0 : l));
}

Frame::~Frame() {
  if (!local_.empty()) memory().remove(local_.data());
  if (!function_.addresses.empty()) memory().remove(memory_.data());
}

void Frame::give(int number, const void* bytes) {
  Place& place = variables_[static_cast<std::size_t>(number)];
  std::memcpy(place.base, bytes, function_.variables[static_cast<std::size_t>(number)].bytes);
  place.stride = 0;
}

Warp::Warp(const Function& kernel, const void* const* arguments, int number, const Dim& dim,
           SharedMemory& shared, GlobalMemory& global)
    : kernel_(kernel),
      number_(number),
      dim_(dim),
      shared_(shared),
      global_(global),
      kernel_frame_(kernel),
      frame_(&kernel_frame_) {
  if (profiling_) clock_.emplace(kernel);
  for (const int parameter : kernel.parameters) kernel_frame_.give(parameter, *arguments++);
}

void Warp::begin(std::uint32_t block) {
  block_ = block;
  const auto special = [&](Special which) { return lanes<std::uint32_t>(slot_of(which)); };
  for (int l = 0; l < kLanes; ++l)
    special(kTid)[l] = static_cast<std::uint32_t>(number_ * kLanes + l);
  fill(special(kNtid), dim_.threads);
  fill(special(kCtaid), block);
  fill(special(kNctaid), dim_.blocks);
  fill(special(kZero), 0);
  group_ = {};
  for (auto& copies : copies_) copies.clear();
  if (clock_) clock_->begin();
  activation_.emplace(Activation{kernel_frame_, kAllLanes, kAllLanes});
}

Warp::Stop Warp::go_on() {
  return run(*activation_);
}

// The group that is furthest behind and does not wait goes on; false if there is none.
bool Warp::next_group(Activation& a) {
  if (a.active != 0) a.others.push_back({a.active, a.at, false});
  a.active = 0;
  std::size_t first = SIZE_MAX;
  for (const Group& group : a.others)
    if (!group.waits) first = std::min(first, group.at);
  a.others_at = SIZE_MAX;
  if (first == SIZE_MAX) return false;
  a.at = first;
  std::erase_if(a.others, [&](const Group& group) {
    if (group.at == first) a.active |= group.lanes;
    return group.at == first;
  });
  for (const Group& group : a.others)
    if (!group.waits) a.others_at = std::min(a.others_at, group.at);
  return true;
}

// That all lanes of `needed` are at this instruction; else those here wait.
bool Warp::all_here(Activation& a, std::uint32_t needed) {
  std::erase_if(a.others, [&](const Group& group) {
    const bool here = group.at == a.at;
    if (here) a.active |= group.lanes;
    return here;
  });
  if (a.active == needed) return true;
  a.others.push_back({a.active, a.at, true});
  a.active = 0;
  if (!next_group(a)) fail(kNotAll);
  return false;
}

Warp::Stop Warp::run(Activation& a) {
  const std::vector<Instruction>& program = a.frame.function().instructions;
  Frame* const before = frame_;
  frame_ = &a.frame;
  const auto stop = [&](Stop why) {
    frame_ = before;
    return why;
  };
  for (;;) {
    if (a.at >= a.others_at) next_group(a);
    const Instruction& i = program[a.at];
    std::uint32_t mask = a.active;
    if (i.guarded) {
      const std::uint32_t guard = *lanes<std::uint32_t>(i.guard);
      mask &= i.negated ? ~guard : guard;
    }
    if (profiling_) count(i);
    switch (i.kind) {
      case Instruction::Kind::kPlain:
        if (mask != 0) i.run(*this, i, mask);
        ++a.at;
        break;
      case Instruction::Kind::kBranch:
        if (mask == a.active) {
          a.at = static_cast<std::size_t>(i.offset);
        } else if (mask == 0) {
          ++a.at;
        } else {
          a.others.push_back({mask, static_cast<std::size_t>(i.offset), false});
          a.active &= ~mask;
          ++a.at;
          next_group(a);
          break;
        }
        // A group that goes on may now be ahead of others, or have come back to one.
        if (!a.others.empty()) next_group(a);
        break;
      case Instruction::Kind::kCall:
        if (mask != 0) call(a, i, mask);
        ++a.at;
        break;
      case Instruction::Kind::kReturn:
        a.all &= ~mask;
        a.active &= ~mask;
        if (a.active != 0) {
          ++a.at;
        } else if (!next_group(a)) {
          if (a.all != 0) fail(kNotAll);
          return stop(Stop::kReturned);
        }
        break;
      case Instruction::Kind::kBarrier:
      case Instruction::Kind::kShuffle:
      case Instruction::Kind::kMatrices:
      case Instruction::Kind::kMma:
        if (&a.frame != &kernel_frame_ || (mask != a.active))
          fail("a barrier, or the like, of some threads alone");
        if (!all_here(a, kAllLanes)) break;
        ++a.at;
        if (i.kind == Instruction::Kind::kBarrier) return stop(Stop::kBarrier);
        if (i.kind == Instruction::Kind::kShuffle) shuffle(i);
        if (i.kind == Instruction::Kind::kMatrices) load_matrices(i);
        if (i.kind == Instruction::Kind::kMma) multiply(i);
        break;
    }
  }
}

void Warp::count(const Instruction& i) {
  clock_->issue(i);
  counts_.instructions += i.issued;
  counts_.fma += i.fma;
  counts_.binary64 += i.binary64;
  counts_.mma += i.kind == Instruction::Kind::kMma;
  counts_.barriers += i.kind == Instruction::Kind::kBarrier;
}

void Warp::call(Activation& caller, const Instruction& i, std::uint32_t mask) {
  const Call& call = caller.frame.function().calls[static_cast<std::size_t>(i.variable)];
  Frame frame(*call.function);
  const auto copy = [mask](Frame& from, int source, Frame& to, int target) {
    const std::size_t bytes = from.function().variables[static_cast<std::size_t>(source)].bytes;
    for (int l = 0; l < kLanes; ++l)
      if ((mask >> l & 1U) != 0)
        std::memcpy(to.variable(target, l), from.variable(source, l), bytes);
  };
  for (std::size_t n = 0; n < call.arguments.size(); ++n)
    copy(caller.frame, call.arguments[n], frame, call.function->parameters[n]);
  Activation activation{frame, mask, mask};
  if (clock_) clock_->enter(*call.function);
  run(activation);
  if (clock_) clock_->leave();
  if (call.result >= 0) copy(frame, call.function->result, caller.frame, call.result);
}

// shfl.sync.down.b32 to|there, value, lanes, clamp, members: of itself where there is no such lane.
void Warp::shuffle(const Instruction& i) {
  const auto* const value = lanes<std::uint32_t>(i.slots[2]);
  const auto* const down = lanes<std::uint32_t>(i.slots[3]);
  if (lanes<std::uint32_t>(i.slots[4])[0] != 31 || lanes<std::uint32_t>(i.slots[5])[0] != kAllLanes)
    fail("a shuffle of other lanes than all");
  std::array<std::uint32_t, kLanes> result{};
  std::uint32_t there = 0;
  for (std::uint32_t l = 0; l < kLanes; ++l) {
    const bool inside = l + down[l] < kLanes;
    result[l] = value[inside ? l + down[l] : l];
    there |= std::uint32_t{inside} << l;
  }
  std::copy(result.begin(), result.end(), lanes<std::uint32_t>(i.slots[0]));
  *lanes<std::uint32_t>(i.slots[1]) = there;
}

// Slots: 4 of results, the address of a row.
void Warp::load_matrices(const Instruction& i) {
  if (profiling_) count_shared(counts_, lanes<std::uint32_t>(i.slots[4]), 16, kAllLanes);
  std::array<std::array<std::uint32_t, 4>, kLanes> values;
  std::array<gpu::MatrixRow, kLanes> rows;
  for (std::size_t l = 0; l < kLanes; ++l) {
    const std::uint32_t at =
        lanes<std::uint32_t>(i.slots[4])[l] + static_cast<std::uint32_t>(i.offset);
    const std::byte* const row = shared_.read(at, 16, thread(static_cast<int>(l)));
    if (row == nullptr) fail(shared_.problem());
    rows[l] = {values[l].data(), row, i.turned};
  }
  gpu::load(rows.data());
  for (std::size_t l = 0; l < kLanes; ++l)
    for (std::size_t m = 0; m < 4; ++m) lanes<std::uint32_t>(i.slots[m])[l] = values[l][m];
}

// Slots: 4 of results, 4 of a, 2 of b, 4 of sums.
void Warp::multiply(const Instruction& i) {
  std::array<std::array<std::int32_t, 4>, kLanes> sums;
  std::array<std::array<std::uint32_t, 6>, kLanes> factors;
  std::array<gpu::Fragment, kLanes> fragments;
  for (std::size_t l = 0; l < kLanes; ++l) {
    for (std::size_t r = 0; r < 4; ++r) sums[l][r] = lanes<std::int32_t>(i.slots[10 + r])[l];
    for (std::size_t r = 0; r < 6; ++r) factors[l][r] = lanes<std::uint32_t>(i.slots[4 + r])[l];
    fragments[l] = {sums[l].data(), factors[l].data(), factors[l].data() + 4};
  }
  gpu::multiply(fragments.data());
  for (std::size_t l = 0; l < kLanes; ++l)
    for (std::size_t r = 0; r < 4; ++r) lanes<std::int32_t>(i.slots[r])[l] = sums[l][r];
}

void Warp::find(const std::uint64_t* addresses, std::int64_t offset, std::size_t bytes,
                std::uint32_t mask, char** places) {
  if (reach_at_ != memory().changes()) {
    reach_ = {};
    reach_at_ = memory().changes();
  }
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1U) == 0) continue;
    const std::uint64_t at = addresses[l] + static_cast<std::uint64_t>(offset);
    const auto inside = [&](const Memory::Range& range) {
      return at >= range.first && at + bytes <= range.end;
    };
    if ((at & (bytes - 1)) != 0) fail("an address that is not aligned");
    if (!inside(reach_[0])) {
      const auto found = std::find_if(reach_.begin(), reach_.end(), inside);
      if (found != reach_.end()) {
        std::swap(*found, reach_[0]);
      } else {
        std::rotate(reach_.begin(), reach_.end() - 1, reach_.end());
        reach_[0] = memory().around(at);
      }
    }
    if (!inside(reach_[0])) {
      std::ostringstream text;
      text << "address 0x" << std::hex << at << ", outside of what was allocated";
      fail(text.str());
    }
    places[l] = reinterpret_cast<char*>(at + reach_[0].to_host);
  }
}

void Warp::copy_async(int lane, std::uint32_t to, const char* from, std::size_t bytes) {
  std::byte* const target = shared_.write(to, 16, thread(lane));
  if (target == nullptr) fail(shared_.problem());
  std::memset(target, 0xff, 16);  // until the wait
  copies_[static_cast<std::size_t>(lane)].push_back(
      {to, from, bytes, group_[static_cast<std::size_t>(lane)]});
}

void Warp::end() const {
  for (const auto& copies : copies_)
    if (!copies.empty()) die("a thread ends before its asynchronous copies have: " + kernel_.name);
}

void Warp::commit(std::uint32_t mask) {
  for (std::size_t l = 0; l < kLanes; ++l) group_[l] += static_cast<int>(mask >> l & 1U);
}

void Warp::wait(std::uint32_t mask, int newest) {
  for (std::size_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1U) == 0) continue;
    std::erase_if(copies_[l], [&](const Copy& copy) {
      if (copy.group >= group_[l] - newest) return false;
      std::byte* const target = shared_.write(copy.to, 16, thread(static_cast<int>(l)));
      if (target == nullptr) fail(shared_.problem());
      std::memset(target, 0, 16);
      if (copy.bytes > 0) std::memcpy(target, copy.from, copy.bytes);
      return true;
    });
  }
}

void Warp::fail(const std::string& what) const {
  const Activation& a = *activation_;
  const Function& function = frame_->function();
  std::string text = what + "\n  kernel " + kernel_.name + ", block " + std::to_string(block_) +
                     ", warp " + std::to_string(number_);
  if (frame_ == &kernel_frame_ && a.at < function.instructions.size()) {
    const auto line = static_cast<std::size_t>(function.instructions[a.at].line);
    text += "\n  line " + std::to_string(line + 1) + ": " + std::string(function.lines->at(line));
  }
  die(text);
}

}  // namespace lockstep::test::ptx
