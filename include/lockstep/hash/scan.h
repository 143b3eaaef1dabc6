// As core/scan.h: a digest's 64 hexadecimal digits.
#pragma once

#include <optional>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::hash {

inline std::optional<Digest> take_digest(std::string_view& rest) {
  constexpr std::size_t kDigits = 64;
  try {
    const Digest value = Digest::from_hex(rest.substr(0, kDigits));
    rest.remove_prefix(kDigits);
    return value;
  } catch (const Error&) {  // other characters, or fewer
    return std::nullopt;
  }
}

}  // namespace lockstep::hash
