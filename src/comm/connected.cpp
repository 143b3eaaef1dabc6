#include "connected.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "pairs.h"

namespace lockstep::comm {
namespace {

constexpr double kReasonWithin = 2;  // seconds until the cause of a broken connection is known

constexpr std::size_t kHeader = 17;

// What opens a verb between two ranks, of one size whatever follows: number, kind and how many
// bytes the sender gives, then as many of those as fit. Small verbs are one message.
using Opening = std::array<std::byte, 4096>;
constexpr std::size_t kInline = sizeof(Opening) - kHeader;

Bytes header_of(std::uint64_t number, char kind, std::size_t size) {
  Bytes out;
  put_u64_le(out, number);
  put_u64_le(out, size);
  out.push_back(static_cast<std::byte>(kind));
  return out;
}

std::size_t inlined(std::size_t size) {
  return std::min(size, kInline);
}

std::string name_of(char kind) {
  switch (kind) {
    case 'a':
      return "all_to_all";
    case 'g':
      return "all_gather";
    case 'b':
      return "broadcast";
    default:
      return "barrier";
  }
}

std::string describe(ByteView header) {
  const std::uint64_t size = get_u64_le(header.subspan(8));
  return name_of(static_cast<char>(header[16])) + " with " + std::to_string(size) +
         " bytes as verb " + std::to_string(get_u64_le(header));
}

// What a verb has begun; all of it is finished when the verb is left, even by an error.
class Moves {
 public:
  Moves(Transport& transport, double until) : transport_(transport), until_(until) {}
  ~Moves() {
    while (begun_ > 0) finish();
  }
  Moves(const Moves&) = delete;
  Moves& operator=(const Moves&) = delete;

  // What it says of a problem, `finish` repeats.
  void begin(std::uint64_t number, std::span<const ByteView> to,
             std::span<const MutableByteView> from) {
    ++begun_;
    const std::string problem = transport_.begin(number, to, from);
    if (problem_.empty()) problem_ = problem;
  }

  // "", or the first problem of all.
  std::string finish() {
    --begun_;
    const bool failed = !problem_.empty();
    const std::chrono::milliseconds left(failed ? 1 : poll_milliseconds(until_));
    const std::string problem = transport_.finish(left);
    if (!failed) problem_ = problem;
    return problem_;
  }

 private:
  Transport& transport_;
  const double until_;
  int begun_ = 0;
  std::string problem_;
};

}  // namespace

ConnectedGroup::ConnectedGroup(Rank rank, const Options& options, const Nonce& session,
                               const std::string& own_address, std::unique_ptr<Control> control,
                               std::unique_ptr<Transport> transport)
    : rank_(static_cast<std::size_t>(rank.value)),
      deadline_(options.deadline),
      exceptions_(std::uncaught_exceptions()),
      transport_(std::move(transport)),
      control_(std::move(control)) {
  control_->on_stop([this] { transport_->interrupt(); });
  std::string problem;
  if (transport_->takes_sockets()) {
    const auto sockets = pair_up(rank, options, session, own_address, *control_);
    std::vector<int> descriptors;
    for (const Socket& socket : sockets) descriptors.push_back(socket.fd());
    problem = transport_->take(descriptors);
  } else {
    problem = transport_->connect(exchange_addresses());
  }
  if (!problem.empty()) {
    if (control_->reason(kReasonWithin)) control_->throw_reason();
    give_up(problem);
  }
  prove(options, session);
}

std::vector<std::string> ConnectedGroup::exchange_addresses() {
  Bytes blob;
  for (const std::string& address : transport_->addresses()) put_text(blob, address);
  std::vector<std::string> theirs;
  for (const Bytes& of_rank : control_->exchange(blob)) {
    Cursor cursor(of_rank);
    std::string to_me;
    for (std::size_t r = 0; r <= rank_; ++r) to_me = cursor.text(kMostText);
    theirs.push_back(to_me);
  }
  return theirs;
}

ConnectedGroup::~ConnectedGroup() {
  if (std::uncaught_exceptions() > exceptions_)
    control_->abort({Code::kNetwork, "it ended with an error"});
  control_->on_stop({});
}

// Rank a's proof to b covers who speaks to whom, the session and b's nonce: none can be played
// back elsewhere.
void ConnectedGroup::prove(const Options& options, const Nonce& session) {
  const std::size_t world = control_->world();
  const double until = monotonic_seconds() + deadline_;
  const auto proof_of = [&](std::size_t from, std::size_t to, const Nonce& nonce) {
    return proof(options, "transport", session, nonce, from, to);
  };
  std::vector<Nonce> asked(world), questions(world);
  std::vector<Mac> answers(world), proofs(world);
  for (Nonce& nonce : asked) nonce = fresh_nonce(options);
  const std::uint64_t number = control_->begin();
  move(2 * number, To(asked.begin(), asked.end()), From(questions.begin(), questions.end()), until,
       "the connections' proofs");
  for (std::size_t r = 0; r < world; ++r) answers[r] = proof_of(rank_, r, questions[r]);
  move(2 * number + 1, To(answers.begin(), answers.end()), From(proofs.begin(), proofs.end()),
       until, "the connections' proofs");
  for (std::size_t r = 0; r < world; ++r)
    if (r != rank_ && !same(proofs[r], proof_of(r, rank_, asked[r])))
      give_up("who answers as " + control_->name(r) + " does not know the run's secret");
}

void ConnectedGroup::give_up(const std::string& reason) {
  control_->abort({Code::kNetwork, reason});
  control_->throw_reason();
}

void ConnectedGroup::require(const std::string& problem, std::uint64_t number, double until,
                             const std::string& what) {
  if (problem.empty()) return;
  if (monotonic_seconds() < until) {
    // Who was lost is known to the control plane a moment later.
    if (control_->reason(kReasonWithin)) control_->throw_reason();
    give_up(what + " failed: " + problem);
  }
  const std::string late = control_->laggards(number);
  give_up(what + " did not finish in " + fixed(deadline_, 1) + " s" +
          (late.empty() ? ": " + problem : ": " + late + " did not come to it"));
}

void ConnectedGroup::move(std::uint64_t number, std::span<const ByteView> to,
                          std::span<const MutableByteView> from, double until,
                          const std::string& what) {
  Moves moves(*transport_, until);
  moves.begin(number, to, from);
  require(moves.finish(), number / 2, until, what);
}

void ConnectedGroup::verb(char kind, std::span<const ByteView> to,
                          std::span<const MutableByteView> from, const std::vector<bool>& sends,
                          const std::vector<bool>& receives) {
  const std::size_t world = control_->world();
  LOCKSTEP_ASSERT(to.size() == world && from.size() == world);
  const double until = monotonic_seconds() + deadline_;
  const std::uint64_t number = control_->begin();
  const std::string what = name_of(kind) + " (verb " + std::to_string(number) + ")";
  std::vector<Opening> mine(world), theirs(world);
  To opening, rest_out(world);
  From awaited, rest_in(world);
  for (std::size_t r = 0; r < world; ++r) {
    opening.push_back(sends[r] ? ByteView(mine[r]) : ByteView());
    awaited.push_back(receives[r] ? MutableByteView(theirs[r]) : MutableByteView());
    std::ranges::copy(header_of(number, kind, to[r].size()), mine[r].begin());
    if (r == rank_) continue;
    std::ranges::copy(to[r].first(inlined(to[r].size())), mine[r].begin() + kHeader);
    rest_out[r] = to[r].subspan(inlined(to[r].size()));
    rest_in[r] = from[r].subspan(inlined(from[r].size()));
  }
  Moves moves(*transport_, until);  // ends before the buffers
  moves.begin(2 * number, opening, awaited);
  moves.begin(2 * number + 1, rest_out, rest_in);
  require(moves.finish(), number, until, what);
  for (std::size_t r = 0; r < world; ++r) {
    if (r == rank_ || !receives[r]) continue;
    const Bytes expected = header_of(number, kind, from[r].size());
    const ByteView came = ByteView(theirs[r]).first(kHeader);
    if (!same(came, expected))
      give_up("out of step: it expected " + describe(expected) + ", but " + control_->name(r) +
              " came with " + describe(came));
    std::ranges::copy(ByteView(theirs[r]).subspan(kHeader, inlined(from[r].size())),
                      from[r].begin());
  }
  require(moves.finish(), number, until, what);
}

void ConnectedGroup::all_to_all(std::span<const ByteView> to,
                                std::span<const MutableByteView> from) {
  const std::vector<bool> all(control_->world(), true);
  verb('a', to, from, all, all);
  LOCKSTEP_ASSERT(to[rank_].size() == from[rank_].size());
  if (!to[rank_].empty()) std::memmove(from[rank_].data(), to[rank_].data(), to[rank_].size());
}

void ConnectedGroup::all_gather(ByteView mine, std::span<const MutableByteView> from) {
  const std::vector<bool> all(control_->world(), true);
  verb('g', To(control_->world(), mine), from, all, all);
  LOCKSTEP_ASSERT(mine.size() == from[rank_].size());
  if (from[rank_].data() != mine.data())  // it may be in its place
    std::ranges::copy(mine, from[rank_].begin());
}

void ConnectedGroup::broadcast(Rank root, MutableByteView buffer) {
  const std::size_t world = control_->world();
  const auto source = static_cast<std::size_t>(root.value);
  LOCKSTEP_ASSERT(source < world);
  To to(world);
  From from(world);
  std::vector<bool> sends(world, rank_ == source), receives(world);
  if (rank_ == source) {
    to.assign(world, buffer);
  } else {
    from[source] = buffer;
    receives[source] = true;
  }
  verb('b', to, from, sends, receives);
}

void ConnectedGroup::barrier() {
  const std::size_t world = control_->world();
  const std::vector<bool> all(world, true);
  verb('|', To(world), From(world), all, all);
}

void ConnectedGroup::abort(const Error& reason) {
  control_->abort(reason);
}

}  // namespace lockstep::comm
