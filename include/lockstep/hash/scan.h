// As core/scan.h: a digest's 64 hexadecimal digits.
#pragma once

#include <optional>
#include <string_view>

#include "lockstep/hash/sha256.h"

namespace lockstep::hash {

inline std::optional<Digest> take_digest(std::string_view& rest) {
  constexpr std::size_t kDigits = 64;
  const auto value = Digest::parse(rest.substr(0, kDigits));
  if (value) rest.remove_prefix(kDigits);
  return value;
}

}  // namespace lockstep::hash
