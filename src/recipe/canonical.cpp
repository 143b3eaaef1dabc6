#include "lockstep/recipe/canonical.h"

#include "lockstep/core/error.h"
#include "lockstep/core/other_semantics.h"
#include "lockstep/recipe/load.h"
#include "lockstep/recipe/semantics.h"
#include "writer.h"

namespace lockstep::recipe {
namespace {

constexpr std::string_view kHashLine = "# sha256 ";
constexpr std::string_view kSemanticsLine = "# semantics ";

std::string write(Recipe recipe, bool bits_only) {
  Writer writer(bits_only);
  describe(writer, recipe);
  return writer.text();
}

[[noreturn]] void corrupt(const std::string& name, const std::string& what) {
  throw Error(
      Code::kCorrupt, name + ": " + what,
      "a run's recipe does not change: undo what was changed (--set run.steps=N makes a run "
      "longer), or write it anew by the command that made the run: train RECIPE --run RUN");
}

// Takes one line with this beginning off the front of `text` and returns the rest of it.
std::string take_line(std::string& text, std::string_view beginning, const std::string& name) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.compare(0, beginning.size(), beginning) != 0)
    corrupt(name, "the line '" + std::string(beginning) + "…' of its header is missing or damaged");
  const std::string rest = text.substr(beginning.size(), end - beginning.size());
  text.erase(0, end + 1);
  return rest;
}

// What our own writer wrote reads back; anything else was not written by it.
Recipe parse_own(const std::string& text, const std::string& name) {
  try {
    return parse(text, name);
  } catch (const Error& error) {
    throw Error(Code::kCorrupt, error.message(), "not a recipe as this program writes it");
  }
}

}  // namespace

std::string canonical(const Recipe& recipe) {
  return write(recipe, false);
}

std::string canonical_bits(const Recipe& recipe) {
  return write(recipe, true);
}

hash::Digest id(const Recipe& recipe) {
  return hash::sha256(as_bytes("lockstep recipe 0\nsemantics " + std::to_string(kSemantics) + "\n" +
                               canonical_bits(recipe)));
}

std::string run_text(const Recipe& recipe) {
  const std::string body =
      std::string(kSemanticsLine) + std::to_string(kSemantics) + "\n\n" + canonical(recipe);
  return std::string(kRunTextBegin) + id(recipe).hex() + "\n" + std::string(kHashLine) +
         hash::sha256(as_bytes(body)).hex() + "\n" + body;
}

Recipe parse_run_text(const std::string& text, const std::string& name) {
  std::string rest = text;
  const std::string stated_id = take_line(rest, kRunTextBegin, name);
  const std::string stated_hash = take_line(rest, kHashLine, name);
  const std::string body = rest;
  if (hash::sha256(as_bytes(body)).hex() != stated_hash)
    corrupt(name, "its lines do not have the SHA-256 that its header states");
  const std::string semantics = take_line(rest, kSemanticsLine, name);
  if (semantics != std::to_string(kSemantics))
    throw of_other_semantics(name, semantics, kSemantics);
  const Recipe recipe = parse_own(rest, name);
  if (id(recipe).hex() != stated_id) corrupt(name, "its header states another recipe's id");
  if (run_text(recipe) != text) corrupt(name, "it is not in canonical form");
  return recipe;
}

Recipe parse_bits(const std::string& text, const std::string& name) {
  const Recipe recipe = parse_own(text, name);
  if (canonical_bits(recipe) != text)
    throw Error(Code::kCorrupt, name + ": its recipe is not in canonical form");
  return recipe;
}

}  // namespace lockstep::recipe
