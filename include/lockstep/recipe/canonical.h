// The one text of a recipe, its id, and the two forms in which it is stored.
//
// Every field of the chosen kinds is written, defaults too, in the order of `describe`; reading it
// gives the same recipe. Bits: the recipe; no locale, no library's formatting.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/hash/sha256.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {

std::string canonical(const Recipe& recipe);
std::string canonical_bits(const Recipe& recipe);  // only the fields that change bits

// Every line of a canonical text as ("run.seed", "9"), in order.
std::vector<std::pair<std::string, std::string>> keys_of(const std::string& text);

// "run.seed is 9, there 1": the first key that differs between two texts of canonical_bits.
std::string first_difference(const std::string& here, const std::string& there);

// SHA-256 of "lockstep recipe 0\nsemantics <n>\n" and canonical_bits.
hash::Digest id(const Recipe& recipe);

// A run folder's recipe.toml: canonical text under a header in which every byte is checked.
//
//   # recipe <id>
//   # sha256 <of all lines below>
//   # semantics <n>
std::string run_text(const Recipe& recipe);
inline constexpr std::string_view kRunTextBegin = "# recipe ";

// Reads it back. Throws Error(kCorrupt) naming what does not hold if any byte was changed, and
// Error(kCannotCompare) if it was made under other semantics than this program's. `name` stands
// for the file.
Recipe parse_run_text(const std::string& text, const std::string& name);

// A recipe out of canonical_bits alone (checkpoints carry it); other fields get defaults. Throws
// Error(kCorrupt) if the text is not exactly what canonical_bits writes.
Recipe parse_bits(const std::string& text, const std::string& name);

}  // namespace lockstep::recipe
