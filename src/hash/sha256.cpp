#include "lockstep/hash/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "lockstep/core/error.h"

namespace lockstep::hash {

std::string Digest::hex() const {
  return to_hex(bytes);
}

std::string Digest::brief() const {
  return hex().substr(0, 12);
}

std::optional<Digest> Digest::parse(std::string_view text) {
  Digest digest;
  if (!lockstep::parse_hex(text, digest.bytes)) return std::nullopt;
  return digest;
}

Digest Digest::from_hex(std::string_view text) {
  if (const auto digest = parse(text)) return *digest;
  throw Error(Code::kCorrupt, "expected 64 lower-case hexadecimal digits, got '" +
                                  std::string(text.substr(0, 80)) + "'");
}

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();

  Context() {
    LOCKSTEP_ASSERT(evp != nullptr);
    start();
  }
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void start() {
    // Fetched once: OpenSSL 3 looks an algorithm up by name each time otherwise (microseconds).
    static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    LOCKSTEP_ASSERT(sha256 != nullptr && EVP_DigestInit_ex2(evp, sha256, nullptr) == 1,
                    "OpenSSL has no SHA-256");
  }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::update(ByteView bytes) {
  LOCKSTEP_ASSERT(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
  return *this;
}

Digest Sha256::finish() {
  Digest digest;
  LOCKSTEP_ASSERT(EVP_DigestFinal_ex(context_->evp,
                                     reinterpret_cast<unsigned char*>(digest.bytes.data()),
                                     nullptr) == 1);
  context_->start();
  return digest;
}

Digest sha256(ByteView bytes) {
  return Sha256().update(bytes).finish();
}

std::string openssl_version() {
  return OpenSSL_version(OPENSSL_VERSION);
}

}  // namespace lockstep::hash
