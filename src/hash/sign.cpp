#include "lockstep/hash/sign.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "lockstep/core/error.h"
#include "lockstep/hash/hmac.h"

namespace lockstep::hash {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;
using Bio = std::unique_ptr<BIO, Free>;

void require(bool done) {
  if (done) return;
  ERR_clear_error();
  throw Error(Code::kEnvironment, "OpenSSL cannot compute Ed25519",
              "check OpenSSL's configuration (OPENSSL_CONF)");
}

const unsigned char* readable(ByteView bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* writable(MutableByteView bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

Key private_key(ByteView seed) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, readable(seed), seed.size()));
  require(key != nullptr);
  return key;
}

Key public_key(const PublicKey& of) {
  Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, readable(of.bytes), of.bytes.size()));
  require(key != nullptr);
  return key;
}

Bio reading(std::string_view text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  require(bio != nullptr);
  return bio;
}

template <class Write>
std::string written(Write&& write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  require(bio != nullptr && write(bio.get()) == 1);
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(length)};
}

// Instead of OpenSSL's own, which asks the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

bool is_ed25519(const Key& key) {
  ERR_clear_error();
  return key != nullptr && EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519;
}

}  // namespace

std::string PublicKey::hex() const {
  return to_hex(bytes);
}

std::string PublicKey::pem() const {
  const Key key = public_key(*this);
  return written([&](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key.get()); });
}

PublicKey PublicKey::from_pem(std::string_view text) {
  const Key key(PEM_read_bio_PUBKEY(reading(text).get(), nullptr, no_password, nullptr));
  if (!is_ed25519(key))
    throw Error(Code::kUsage, "it holds no Ed25519 public key (PEM)",
                "give the .pub file that `lockstep keygen` wrote beside the private key");
  PublicKey found;
  std::size_t size = found.bytes.size();
  require(EVP_PKEY_get_raw_public_key(key.get(), writable(found.bytes), &size) == 1);
  return found;
}

PrivateKey::PrivateKey(const Seed& seed) : seed_(seed) {
  std::size_t size = public_key_.bytes.size();
  require(EVP_PKEY_get_raw_public_key(private_key(seed_).get(), writable(public_key_.bytes),
                                      &size) == 1);
}

PrivateKey PrivateKey::generate() {
  Seed seed;
  random_bytes(seed);
  return PrivateKey(seed);
}

PrivateKey PrivateKey::from_pem(std::string_view text) {
  const Key key(PEM_read_bio_PrivateKey(reading(text).get(), nullptr, no_password, nullptr));
  if (!is_ed25519(key))
    throw Error(Code::kUsage, "it holds no Ed25519 private key (PEM, without a password)",
                "`lockstep keygen` makes one");
  Seed seed;
  std::size_t size = seed.size();
  require(EVP_PKEY_get_raw_private_key(key.get(), writable(seed), &size) == 1);
  return PrivateKey(seed);
}

std::string PrivateKey::pem() const {
  const Key key = private_key(seed_);
  return written([&](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

Signature PrivateKey::sign(ByteView message) const {
  const Key key = private_key(seed_);
  const Context context(EVP_MD_CTX_new());
  Signature signature;
  std::size_t size = signature.bytes.size();
  require(context != nullptr &&
          EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
          EVP_DigestSign(context.get(), writable(signature.bytes), &size, readable(message),
                         message.size()) == 1);
  return signature;
}

bool is_signed(ByteView message, const PublicKey& by, const Signature& signature) {
  const Key key = public_key(by);
  const Context context(EVP_MD_CTX_new());
  require(context != nullptr &&
          EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  const bool holds =
      EVP_DigestVerify(context.get(), readable(signature.bytes), signature.bytes.size(),
                       readable(message), message.size()) == 1;
  ERR_clear_error();
  return holds;
}

}  // namespace lockstep::hash
