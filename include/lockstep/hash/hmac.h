// Proof of a shared secret: HMAC-SHA-256 (RFC 2104), and bytes nobody can guess.
#pragma once

#include "lockstep/hash/sha256.h"

namespace lockstep::hash {

Digest hmac_sha256(ByteView key, ByteView message);

// Of the system's generator. For nonces and keys; never for anything that enters a state.
// Throws Error(kEnvironment).
void random_bytes(MutableByteView out);

}  // namespace lockstep::hash
