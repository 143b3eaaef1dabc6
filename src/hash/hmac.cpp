#include "lockstep/hash/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "lockstep/core/error.h"

namespace lockstep::hash {

Digest hmac_sha256(ByteView key, ByteView message) {
  Digest digest;
  unsigned length = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(digest.bytes.data()), &length);
  if (done == nullptr || length != digest.bytes.size())
    throw Error(Code::kEnvironment, "OpenSSL cannot compute HMAC-SHA-256",
                "check OpenSSL's configuration (OPENSSL_CONF)");
  return digest;
}

void random_bytes(MutableByteView out) {
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size())) != 1)
    throw Error(Code::kEnvironment, "the system gives no random bytes");
}

}  // namespace lockstep::hash
