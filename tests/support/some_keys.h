// The private keys of RFC 8032's first tests: known to all, so good for tests only.
#pragma once

#include <string>

#include "lockstep/hash/sign.h"

namespace lockstep::testing {

inline std::string some_pem(int number = 0) {
  const char* const kKeys[] = {"MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g",
                               "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7",
                               "MC4CAQAwBQYDK2VwBCIEIMWqjfQ/n4N77bdELzHct7Fm04U1B28JS4XOOi4LRFj3"};
  return std::string("-----BEGIN PRIVATE KEY-----\n") + kKeys[number] +
         "\n-----END PRIVATE KEY-----\n";
}

inline hash::PrivateKey some_key(int number = 0) {
  return hash::PrivateKey::from_pem(some_pem(number));
}

}  // namespace lockstep::testing
