#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "rendezvous.h"

namespace lockstep::comm {
namespace {

// The next frame of rank 0, which must be of `type`. A reason to stop is thrown.
Bytes expect(char type, Peer& rank_0, std::size_t most, double until, const std::string& me,
             const std::string& where) {
  std::optional<Frame> frame;
  try {
    frame = read_frame(rank_0.socket, rank_0.reader, most, until);
  } catch (const Error& error) {
    throw Error(Code::kNetwork, me + ", " + where + ": " + error.message(),
                "something listens there: is it rank 0 of this run? see rank 0's log");
  }
  if (!frame)
    throw Error(Code::kNetwork, me + ", " + where + ": closed the connection",
                type == kWelcome ? "see rank 0's log"
                                 : "another program, or rank 0 of a run with another secret");
  if (frame->type == kStopped) throw Error(Code::kNetwork, Cursor(frame->payload).text(kMostText));
  if (frame->type != type)
    throw Error(Code::kNetwork, me + ", " + where + ": does not speak Lockstep's protocol",
                "another program has this port");
  return frame->payload;
}

Bytes join_message(const Options& options) {
  Bytes out;
  put_text(out, own_host_name());
  put_u32_le(out, static_cast<std::uint32_t>(options.credentials.size()));
  for (const Credential& credential : options.credentials) {
    put_text(out, credential.name);
    put_text(out, credential.value);
    put_u32_le(out, credential.report_only);
  }
  LOCKSTEP_ASSERT(out.size() <= kMostJoin, "the credentials are too long");
  return out;
}

}  // namespace

Joined join(const Identity& identity, const Options& options) {
  const double until = monotonic_seconds() + options.deadline;
  const auto rank = static_cast<std::uint64_t>(identity.rank.value);
  const auto world = static_cast<std::uint64_t>(identity.world);
  const std::string me = "rank " + std::to_string(rank) + " on " + own_host_name();
  const std::string where = "rank 0 at " + identity.host + ":" + std::to_string(identity.port);
  Joined joined;
  joined.peers.resize(static_cast<std::size_t>(identity.world));
  Peer& rank_0 = joined.peers[0];
  try {
    rank_0.socket = dial(identity.host, identity.port, until);
  } catch (const Error& error) {
    throw error.within(me + " cannot reach rank 0");
  }
  joined.own_address = local_address(rank_0.socket);
  const Hello hello{kProtocol, rank, world, fresh_nonce(options)};
  send_frame(rank_0.socket, kHello, to_bytes(hello), until);

  const Bytes challenge = expect(kChallenge, rank_0, kMostText + 8, until, me, where);
  Cursor cursor(challenge);
  Nonce nonce;
  std::ranges::copy(cursor.bytes(kNonceBytes), nonce.begin());
  if (!same(cursor.bytes(sizeof(Mac)), proof(options, "host", hello.nonce, nonce, rank, world)))
    throw Error(Code::kNetwork, me + ", " + where + ": it does not know this run's secret",
                "the same LOCKSTEP_SECRET_FILE and run id on all ranks; or this is another run's "
                "port");
  send_frame(rank_0.socket, kProof, proof(options, "visitor", hello.nonce, nonce, rank, world),
             until);
  send_frame(rank_0.socket, kJoin, join_message(options), until);

  // Rank 0 answers when all ranks came or at its deadline, which may have begun after ours.
  const Bytes welcome = expect(kWelcome, rank_0, kMostBlob, until + options.deadline, me, where);
  Cursor words(welcome);
  std::ranges::copy(words.bytes(kNonceBytes), joined.session.begin());
  for (int r = 0; r < identity.world; ++r) joined.hosts.push_back(words.text(256));
  return joined;
}

}  // namespace lockstep::comm
