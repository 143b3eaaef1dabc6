// What other trainers call our keys and words: for hints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::recipe {

// Where to say here what that key says elsewhere.
std::optional<std::string> here(std::string_view key);

// The word out of `words` that is meant: another name of it, or one that is near.
std::optional<std::string> meant_word(std::string_view word, const std::vector<std::string>& words);

}  // namespace lockstep::recipe
