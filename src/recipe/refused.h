// What other trainers offer and recipes refuse, with the reason.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::recipe {

struct Refused {
  std::string why, hint;
};

// Of a key that no table has, and of a word that a key does not take; nothing where there is no
// more to say than that.
std::optional<Refused> refused_key(std::string_view key);
std::optional<Refused> refused_word(std::string_view key, std::string_view word);

}  // namespace lockstep::recipe
