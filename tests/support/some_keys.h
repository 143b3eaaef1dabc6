// The private keys of RFC 8032's first tests: known to all, so good for tests only.
#pragma once

#include <array>
#include <string>

#include "lockstep/hash/sign.h"

namespace lockstep::testing {

inline std::string some_pem(std::size_t number = 0) {
  static constexpr std::array kKeys{
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
      "-----END PRIVATE KEY-----\n",
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
      "-----END PRIVATE KEY-----\n",
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIMWqjfQ/n4N77bdELzHct7Fm04U1B28JS4XOOi4LRFj3\n"
      "-----END PRIVATE KEY-----\n"};
  return kKeys.at(number);
}

inline hash::PrivateKey some_key(std::size_t number = 0) {
  return hash::PrivateKey::from_pem(some_pem(number));
}

}  // namespace lockstep::testing
