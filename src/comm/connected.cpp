#include "connected.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "lockstep/core/error.h"
#include "pairs.h"

namespace lockstep::comm {
namespace {

// What a rank sends itself; it may be in its place.
void keep_own(ByteView to, MutableByteView from, Memory memory) {
  if (to.empty() || from.data() == to.data()) return;
  LOCKSTEP_ASSERT(memory == Memory::kHost);
  std::memmove(from.data(), to.data(), to.size());
}

}  // namespace

ConnectedGroup::ConnectedGroup(Rank rank, const Options& options, const Nonce& session,
                               const std::string& own_address, std::unique_ptr<Control> control,
                               std::unique_ptr<Transport> transport)
    : rank_(static_cast<std::size_t>(rank.value)),
      exceptions_(std::uncaught_exceptions()),
      transport_(std::move(transport)),
      control_(std::move(control)),
      line_(rank_, options.deadline, *control_, *transport_) {
  control_->on_stop([this] { transport_->interrupt(); });
  try {
    connect(rank, options, session, own_address);
  } catch (const std::exception& error) {  // no destructor tells the others
    const auto* const known = dynamic_cast<const Error*>(&error);
    control_->abort(known ? *known : Error(Code::kNetwork, error.what()));
    control_->on_stop({});
    throw;
  }
}

void ConnectedGroup::connect(Rank rank, const Options& options, const Nonce& session,
                             const std::string& own_address) {
  std::string problem;
  if (transport_->takes_sockets()) {
    const auto sockets = pair_up(rank, options, session, own_address, *control_);
    std::vector<int> descriptors;
    for (const Socket& socket : sockets) descriptors.push_back(socket.fd());
    problem = transport_->take(descriptors);
  } else {
    problem = transport_->connect(exchange_addresses());
  }
  if (!problem.empty()) line_.broken("connecting", problem);
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

// Rank a's proof to b covers both ranks, the session and b's nonce: it cannot be replayed
// elsewhere.
void ConnectedGroup::prove(const Options& options, const Nonce& session) {
  const std::size_t world = control_->world();
  const auto proof_of = [&](std::size_t from, std::size_t to, const Nonce& nonce) {
    return proof(options, "transport", session, nonce, from, to);
  };
  std::vector<Nonce> asked(world), questions(world);
  std::vector<Mac> answers(world), proofs(world);
  for (Nonce& nonce : asked) nonce = fresh_nonce(options);
  const std::uint64_t number = control_->begin();
  const std::string what = "the connections' proofs";
  line_.move(2 * number, To(asked.begin(), asked.end()), From(questions.begin(), questions.end()),
             what);
  for (std::size_t r = 0; r < world; ++r) answers[r] = proof_of(rank_, r, questions[r]);
  line_.move(2 * number + 1, To(answers.begin(), answers.end()), From(proofs.begin(), proofs.end()),
             what);
  for (std::size_t r = 0; r < world; ++r)
    if (r != rank_ && !same(proofs[r], proof_of(r, rank_, asked[r])))
      line_.give_up("the process that answers as " + control_->name(r) +
                    " does not know the run's secret");
}

std::unique_ptr<Operation> ConnectedGroup::begin_all_to_all(std::span<const ByteView> to,
                                                            std::span<const MutableByteView> from,
                                                            Memory memory) {
  const std::vector<bool> all(control_->world(), true);
  auto operation = line_.begin('a', memory, to, from, all, all);
  LOCKSTEP_ASSERT(to[rank_].size() == from[rank_].size());
  keep_own(to[rank_], from[rank_], memory);
  return operation;
}

std::unique_ptr<Operation> ConnectedGroup::begin_all_gather(ByteView mine,
                                                            std::span<const MutableByteView> from,
                                                            Memory memory) {
  const std::vector<bool> all(control_->world(), true);
  auto operation = line_.begin('g', memory, To(control_->world(), mine), from, all, all);
  LOCKSTEP_ASSERT(mine.size() == from[rank_].size());
  keep_own(mine, from[rank_], memory);
  return operation;
}

void ConnectedGroup::all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                                Memory memory) {
  begin_all_to_all(to, from, memory)->finish();
}

void ConnectedGroup::all_gather(ByteView mine, std::span<const MutableByteView> from,
                                Memory memory) {
  begin_all_gather(mine, from, memory)->finish();
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
  line_.begin('b', Memory::kHost, to, from, sends, receives)->finish();
}

void ConnectedGroup::barrier() {
  const std::size_t world = control_->world();
  const std::vector<bool> all(world, true);
  line_.begin('|', Memory::kHost, To(world), From(world), all, all)->finish();
}

void ConnectedGroup::abort(const Error& reason) {
  control_->abort(reason);
}

}  // namespace lockstep::comm
