// The control plane's messages: their types, their largest sizes, and how untrusted bytes are read.
//
//   visitor -> rank 0   hello: magic, protocol, rank, world, nonce
//   rank 0 -> visitor   challenge: nonce, rank 0's proof
//   visitor -> rank 0   proof; then join: host, credentials
//   rank 0 -> all       welcome: session, hosts  or  stopped: the reason
//   later               ping (operations begun), exchange, abort, stopped, goodbye
//
// Before its proof a visitor sends frames of fixed size only.
#pragma once

#include <string>

#include "lockstep/comm/connect.h"

namespace lockstep::comm {

inline constexpr std::uint32_t kProtocol = 2;

inline constexpr char kHello = 'h', kChallenge = 'c', kProof = 'p', kJoin = 'j', kWelcome = 'w';
inline constexpr char kPing = '.', kExchange = 'x', kAbort = 'a', kStopped = 's', kGoodbye = 'g';

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kMostHello = 8 + 4 + 8 + 8 + kNonceBytes;
inline constexpr std::size_t kMostName = 256;        // of a host, of a credential
inline constexpr std::size_t kMostText = 16 * 1024;  // a reason, a credential's value
inline constexpr std::size_t kMostJoin = 64 * 1024;
inline constexpr std::size_t kMostBlob = 1024 * 1024;  // of one rank, in an exchange

using Nonce = std::array<std::byte, kNonceBytes>;

// Takes a payload apart. Throws Error(kNetwork) if it is shorter than it says.
class Cursor {
 public:
  explicit Cursor(ByteView rest) : rest_(rest) {}
  ByteView bytes(std::uint64_t count);
  std::uint32_t u32() { return get_u32_le(bytes(4)); }
  std::uint64_t u64() { return get_u64_le(bytes(8)); }
  std::string text(std::size_t most);  // as put_text wrote it
  bool done() const { return rest_.empty(); }
  void end() const;  // throws Error(kNetwork) if bytes are left

 private:
  ByteView rest_;
};

struct Hello {
  std::uint32_t protocol = kProtocol;
  std::uint64_t rank = 0, world = 0;
  Nonce nonce{};
};
Bytes to_bytes(const Hello& hello);
Hello read_hello(ByteView payload);  // throws Error(kNetwork) if it is not Lockstep's

// What a rank says after its proof: its host's name and its credentials.
struct Join {
  std::string host;
  std::vector<Credential> credentials;
};
Bytes to_bytes(const Join& join);
Join read_join(ByteView payload);  // throws Error(kNetwork)

// The proof of one side (`role`) of a connection, over both nonces and the visitor's rank and
// world.
Mac proof(const Options& options, const std::string& role, const Nonce& visitor, const Nonce& host,
          std::uint64_t rank, std::uint64_t world);
bool same(ByteView a, ByteView b);  // in constant time
Nonce fresh_nonce(const Options& options);

std::string cut(const std::string& text);  // to kMostText

}  // namespace lockstep::comm
