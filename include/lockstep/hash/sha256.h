// SHA-256 and its 32-byte result: what roots, chains, ids and signatures are made of.
//
// Bits: of the input bytes only. Speed: about 1.5-2 GB/s on one core with SHA instructions.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lockstep/core/bytes.h"

namespace lockstep::hash {

// Ordered by bytes. Default: all zero, which is no value's hash as far as anybody knows.
struct Digest {
  std::array<std::byte, 32> bytes{};

  std::string hex() const;                                    // 64 lower-case digits
  std::string brief() const;                                  // the first 12, for people
  static std::optional<Digest> parse(std::string_view text);  // those 64 digits, nothing else
  static Digest from_hex(std::string_view text);              // the same, or throws Error(kCorrupt)
  ByteView view() const { return bytes; }

  auto operator<=>(const Digest&) const = default;
};

// Incremental: SHA-256 of all bytes given to `update`, in order.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& update(ByteView bytes);
  Digest finish();  // and starts anew

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Digest sha256(ByteView bytes);

// Version of the OpenSSL library in use, "OpenSSL 3.0.19 …".
std::string openssl_version();

}  // namespace lockstep::hash
