#include "wire.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {
constexpr std::string_view kMagic = "LOCKSTEP";
}

ByteView Cursor::bytes(std::uint64_t count) {
  if (count > rest_.size()) throw Error(Code::kNetwork, "a message is shorter than it says");
  const ByteView taken = rest_.first(static_cast<std::size_t>(count));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

std::string Cursor::text(std::size_t most) {
  const std::uint64_t length = u64();
  if (length > most) throw Error(Code::kNetwork, "a message holds a text that is too long");
  const ByteView view = bytes(length);
  return {reinterpret_cast<const char*>(view.data()), view.size()};
}

void Cursor::end() const {
  if (!done())
    throw Error(Code::kNetwork,
                "a message has " + std::to_string(rest_.size()) + " bytes too many");
}

Bytes to_bytes(const Hello& hello) {
  Bytes out(as_bytes(kMagic).begin(), as_bytes(kMagic).end());
  put_u32_le(out, hello.protocol);
  put_u64_le(out, hello.rank);
  put_u64_le(out, hello.world);
  out.insert(out.end(), hello.nonce.begin(), hello.nonce.end());
  return out;
}

Hello read_hello(ByteView payload) {
  Cursor cursor(payload);
  if (!same(cursor.bytes(kMagic.size()), as_bytes(kMagic)))
    throw Error(Code::kNetwork, "it does not speak Lockstep's protocol");
  Hello hello;
  hello.protocol = cursor.u32();
  hello.rank = cursor.u64();
  hello.world = cursor.u64();
  std::ranges::copy(cursor.bytes(kNonceBytes), hello.nonce.begin());
  cursor.end();
  return hello;
}

Bytes to_bytes(const Join& join) {
  Bytes out;
  put_text(out, join.host);
  put_u32_le(out, static_cast<std::uint32_t>(join.credentials.size()));
  for (const Credential& credential : join.credentials) {
    put_text(out, credential.name);
    put_text(out, credential.value);
    put_u32_le(out, credential.report_only);
  }
  return out;
}

Join read_join(ByteView payload) {
  Cursor cursor(payload);
  Join join{cursor.text(kMostName), {}};
  for (std::uint32_t left = cursor.u32(); left > 0; --left) {  // grows as bytes are there
    Credential& credential = join.credentials.emplace_back();
    credential.name = cursor.text(kMostName);
    credential.value = cursor.text(kMostText);
    const std::uint32_t report_only = cursor.u32();
    if (report_only > 1)
      throw Error(Code::kNetwork,
                  "a message holds a truth value of " + std::to_string(report_only));
    credential.report_only = report_only == 1;
  }
  cursor.end();
  return join;
}

Mac proof(const Options& options, const std::string& role, const Nonce& visitor, const Nonce& host,
          std::uint64_t rank, std::uint64_t world) {
  Bytes message;
  put_text(message, "lockstep proof 2");
  put_text(message, role);
  put_u64_le(message, rank);
  put_u64_le(message, world);
  message.insert(message.end(), visitor.begin(), visitor.end());
  message.insert(message.end(), host.begin(), host.end());
  return options.mac(message);
}

bool same(ByteView a, ByteView b) {
  if (a.size() != b.size()) return false;
  std::byte difference{0};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

Nonce fresh_nonce(const Options& options) {
  Nonce nonce;
  options.random(nonce);
  return nonce;
}

std::string cut(const std::string& text) {
  return text.substr(0, kMostText);
}

}  // namespace lockstep::comm
