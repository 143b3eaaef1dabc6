// Signatures: Ed25519 (RFC 8032) by OpenSSL, keys as the PEM texts that everybody reads (PKCS#8,
// SubjectPublicKeyInfo). A signature is a function of key and message: the same bytes each time.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "lockstep/core/bytes.h"

namespace lockstep::hash {

struct Signature {
  std::array<std::byte, 64> bytes{};
  bool operator==(const Signature&) const = default;
};

struct PublicKey {
  std::array<std::byte, 32> bytes{};

  std::string hex() const;  // 64 lower-case digits
  std::string pem() const;
  // Throws Error(kUsage) for a text without an Ed25519 public key.
  static PublicKey from_pem(std::string_view text);

  bool operator==(const PublicKey&) const = default;
};

class PrivateKey {
 public:
  static PrivateKey generate();  // of the system's random bytes: Error(kEnvironment)
  // Throws Error(kUsage) for a text without an Ed25519 private key, or with one under a password.
  static PrivateKey from_pem(std::string_view text);

  std::string pem() const;
  const PublicKey& public_key() const { return public_key_; }
  Signature sign(ByteView message) const;

 private:
  using Seed = std::array<std::byte, 32>;
  explicit PrivateKey(const Seed& seed);

  Seed seed_;
  PublicKey public_key_;
};

bool is_signed(ByteView message, const PublicKey& by, const Signature& signature);

}  // namespace lockstep::hash
