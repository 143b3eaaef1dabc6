#include "line.h"

#include <algorithm>
#include <array>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "reason.h"

namespace lockstep::comm {
namespace {

constexpr double kReasonWithin = 2;  // seconds until the cause of a broken connection is known

constexpr std::size_t kHeader = 17;

using Opening = std::array<std::byte, 4096>;  // small operations are one message
constexpr std::size_t kInline = sizeof(Opening) - kHeader;

// Its name on the way: both sides of a message must know where it lies.
char kind_in(Memory memory, char kind) {
  return memory == Memory::kHost ? kind : static_cast<char>(kind - 'a' + 'A');
}

Bytes header_of(std::uint64_t number, char kind, std::size_t size) {
  Bytes out;
  put_u64_le(out, number);
  put_u64_le(out, size);
  out.push_back(static_cast<std::byte>(kind));
  return out;
}

std::string name_of(char kind) {
  switch (kind) {
    case 'a':
      return "all_to_all";
    case 'g':
      return "all_gather";
    case 'A':
      return "all_to_all in GPUs' memory";
    case 'G':
      return "all_gather in GPUs' memory";
    case 'b':
      return "broadcast";
    default:
      return "barrier";
  }
}

std::string describe(ByteView header) {
  const std::uint64_t size = get_u64_le(header.subspan(8));
  return name_of(static_cast<char>(header[16])) + " with " + std::to_string(size) +
         " bytes as operation " + std::to_string(get_u64_le(header));
}

// Operations begun at the transport. Each must be finished, even after an error.
class Moves {
 public:
  explicit Moves(Transport& transport) : transport_(transport) {}

  // `finish` reports its problem, too.
  void begin(std::uint64_t number, std::span<const ByteView> to,
             std::span<const MutableByteView> from, Memory memory) {
    ++begun_;
    const std::string problem = transport_.begin(number, to, from, memory);
    if (problem_.empty()) problem_ = problem;
  }

  // "", or the first problem of all.
  std::string finish(double until) {
    --begun_;
    const bool failed = !problem_.empty();
    const std::chrono::milliseconds left(failed ? 1 : poll_milliseconds(until));
    const std::string problem = transport_.finish(left);
    if (!failed) problem_ = problem;
    return problem_;
  }

  void finish_all(double until) {
    while (begun_ > 0) finish(until);
  }

 private:
  Transport& transport_;
  int begun_ = 0;
  std::string problem_;
};

}  // namespace

class Line::UnderWay final : public Operation {
 public:
  UnderWay(Line& line, char kind, Memory memory, std::span<const ByteView> to,
           std::span<const MutableByteView> from, const std::vector<bool>& sends,
           std::vector<bool> receives)
      : line_(line),
        kind_(kind_in(memory, kind)),
        inline_(memory == Memory::kHost ? kInline : 0),
        number_(line.control_.begin()),
        from_(from.begin(), from.end()),
        receives_(std::move(receives)),
        mine_(to.size()),
        theirs_(to.size()),
        moves_(line.transport_) {
    const std::size_t world = line_.control_.world();
    LOCKSTEP_ASSERT(to.size() == world && from.size() == world);
    std::vector<ByteView> opening, rest_out(world);
    std::vector<MutableByteView> awaited, rest_in(world);
    for (std::size_t r = 0; r < world; ++r) {
      opening.push_back(sends[r] ? ByteView(mine_[r]) : ByteView());
      awaited.push_back(receives_[r] ? MutableByteView(theirs_[r]) : MutableByteView());
      std::ranges::copy(header_of(number_, kind_, to[r].size()), mine_[r].begin());
      if (r == line_.rank_) continue;
      std::ranges::copy(to[r].first(inlined(to[r].size())), mine_[r].begin() + kHeader);
      rest_out[r] = to[r].subspan(inlined(to[r].size()));
      rest_in[r] = from[r].subspan(inlined(from[r].size()));
    }
    moves_.begin(2 * number_, opening, awaited, Memory::kHost);
    moves_.begin(2 * number_ + 1, rest_out, rest_in, memory);
    line_.under_way_.push_back(this);
  }

  ~UnderWay() override {
    try {
      finish();
    } catch (const Error&) {  // whoever did not wait for it has another error
    }
  }

  void finish() override {
    while (!ended_) {
      UnderWay& first = *line_.under_way_.front();
      line_.under_way_.pop_front();
      first.ended_ = true;
      first.end();
      first.arrived_ = true;
    }
    if (!arrived_) line_.control_.throw_reason();  // a later one has thrown it
  }

 private:
  std::size_t inlined(std::size_t size) const { return std::min(size, inline_); }

  void end() {
    const double until = monotonic_seconds() + line_.deadline_;
    const std::string what = name_of(kind_) + " (operation " + std::to_string(number_) + ")";
    try {
      const std::string problem = moves_.finish(until);
      open(problem.empty());
      line_.require(problem, number_, until, what);
      line_.require(moves_.finish(until), number_, until, what);
    } catch (const Error&) {
      moves_.finish_all(until);
      throw;
    }
  }

  // complete: all openings have come. Otherwise those that have: a rank out of step, whose rest
  // does not fit, breaks a connection while others' openings are awaited.
  void open(bool complete) {
    for (std::size_t r = 0; r < from_.size(); ++r) {
      if (r == line_.rank_ || !receives_[r]) continue;
      const MutableByteView from = from_[r];
      const Bytes expected = header_of(number_, kind_, from.size());
      const ByteView came = ByteView(theirs_[r]).first(kHeader);
      if (!complete && came.back() == std::byte{0}) continue;  // its end, the kind, is missing
      if (!same(came, expected))
        line_.give_up("out of step: it expected " + describe(expected) + ", but " +
                      line_.control_.name(r) + " sent " + describe(came));
      std::ranges::copy(ByteView(theirs_[r]).subspan(kHeader, inlined(from.size())), from.begin());
    }
  }

  Line& line_;
  const char kind_;
  const std::size_t inline_;  // bytes that an opening takes
  const std::uint64_t number_;
  const std::vector<MutableByteView> from_;
  const std::vector<bool> receives_;
  std::vector<Opening> mine_, theirs_;
  Moves moves_;
  bool ended_ = false, arrived_ = false;
};

std::unique_ptr<Operation> Line::begin(char kind, Memory memory, std::span<const ByteView> to,
                                       std::span<const MutableByteView> from,
                                       const std::vector<bool>& sends,
                                       const std::vector<bool>& receives) {
  return std::make_unique<UnderWay>(*this, kind, memory, to, from, sends, receives);
}

void Line::move(std::uint64_t number, std::span<const ByteView> to,
                std::span<const MutableByteView> from, const std::string& what) {
  const double until = monotonic_seconds() + deadline_;
  Moves moves(transport_);
  moves.begin(number, to, from, Memory::kHost);
  require(moves.finish(until), number / 2, until, what);
}

void Line::give_up(const std::string& reason) {
  control_.abort({Code::kNetwork, reason});
  control_.throw_reason();
}

void Line::broken(const std::string& doing, const std::string& problem) {
  // The control plane learns a moment later which rank was lost.
  if (const auto reason = control_.reason(kReasonWithin)) {
    const Error stopped = reason->within(kGroupStopped);
    throw reason->code() == Code::kNetwork ? stopped.within(doing) : stopped;
  }
  give_up(doing + " failed: " + problem);
}

void Line::require(const std::string& problem, std::uint64_t number, double until,
                   const std::string& what) {
  if (problem.empty()) return;
  if (monotonic_seconds() < until) broken(what, problem);
  const std::string late = control_.laggards(number);
  give_up(what + " did not finish in " + fixed(deadline_, 1) + " s" +
          (late.empty() ? ": " + problem + " (LOCKSTEP_DEADLINE gives a slow network more time)"
                        : ": " + late + " did not begin it"));
}

}  // namespace lockstep::comm
