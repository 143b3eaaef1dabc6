#include "lockstep/recipe/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/recipe/load.h"

namespace lockstep::recipe {
namespace {

using Keys = std::set<std::string>;                             // "mixture.modes"
using Words = std::map<std::string, std::vector<std::string>>;  // of a table's choices

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + separator.size();
  }
}

// A section of the page: its keys, and the words of its choices.
void read_table(const std::string& section, Keys& keys, Words& words) {
  for (const std::string& line : split(section, "\n")) {
    if (!line.starts_with("| `")) continue;
    const auto cells = split(line, " | ");
    const std::string key = cells[0].substr(3, cells[0].size() - 4);
    keys.insert(key);
    // No choice of an inner table makes other keys of this one.
    if (!cells[1].starts_with('"') || key.find('.') != std::string::npos) continue;
    for (const std::string& word : split(cells[1], ", "))
      words[key].push_back(word.substr(1, word.size() - 2));
  }
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const auto file = std::filesystem::path(::testing::TempDir()) /
                    ("keys-" + std::to_string(::getpid()) + ".toml");
  std::ofstream(file, std::ios::binary) << text;
  std::string said;
  try {
    load(file, overrides);
  } catch (const Error& error) {
    said = error.what();
  }
  std::filesystem::remove(file);
  return said;
}

// What the parser says of a key that it does not know, below the last table of `recipe`.
std::string said_of_unknown(const std::string& recipe) {
  std::vector<std::string> overrides;
  for (;;) {
    const std::string said = error_of(recipe + "an-unknown-key-like-no-other = 1\n", overrides);
    if (said.find("must be given") == said.npos || overrides.size() > 9) return said;
    const std::string table = split(split(said, "in [").back(), "]").front();
    overrides.push_back(table + "." + split(said, "'")[1] + "=1");  // what has no default
  }
}

// What the parser says that it knows in a table, with tables in it as "mixture.modes". `recipe`:
// the choices that are made there.
void ask_parser(const std::string& table, const std::string& recipe, const std::string& prefix,
                Keys& keys) {
  const std::string said = said_of_unknown(recipe);
  ASSERT_THAT(said, ::testing::HasSubstr("keys are ")) << recipe;
  const std::string list = split(said, "keys are ")[1];
  for (const std::string& key : split(list.substr(0, list.size() - 1), ", ")) {
    const std::string inner = table + "." + key, text = recipe + "[" + inner + "]\n";
    if (inner == "model.optimizer") continue;  // a section of its own
    if (said_of_unknown(text).find("unknown key 'an-unknown-key-like-no-other' in [" + inner +
                                   "]") != std::string::npos)
      ask_parser(inner, text, prefix + key + ".", keys);
    else
      keys.insert(prefix + key);
  }
}

// Over all combinations of words; where one makes no sense the parser says so, and it is left out.
Keys keys_of_parser(const std::string& table, const Words& words) {
  std::vector<std::string> recipes = {"[" + table + "]\n"};
  Keys keys;
  for (const auto& [key, list] : words) {
    std::vector<std::string> more = recipes;  // without that choice, too
    for (const std::string& recipe : recipes)
      for (const std::string& word : list) more.push_back(recipe + key + " = '" + word + "'\n");
    recipes = std::move(more);
  }
  for (const std::string& recipe : recipes) {
    const std::string said = error_of(recipe);
    if (said.find("unknown key") == std::string::npos &&
        said.find("cannot be") == std::string::npos)
      ask_parser(table, recipe, "", keys);
  }
  return keys;
}

TEST(Help, DocsRecipesIsWhatTheProgramSays) {
  // To renew: build/release/bin/lockstep train --help-recipe > docs/recipes.md
  EXPECT_EQ(read_text(real_file_system(), LOCKSTEP_SOURCE_DIR "/docs/recipes.md"), help_markdown());
}

TEST(Help, ListsKeysOfEveryKind) {
  const std::string help = help_markdown();
  for (const char* key : {"| `channels` |", "| `latent` |", "| `beta1` |", "| `momentum` |",
                          "| `r1` |", "| `timesteps` |", "| `mixture.modes` |"})
    EXPECT_NE(help.find(key), std::string::npos) << key;
}

TEST(Help, ListsEveryKeyThatTheParserKnowsAndNoOther) {
  const auto sections = split(help_markdown(), "\n## ");
  ASSERT_EQ(sections.size(), 13U);
  for (std::size_t i = 1; i < sections.size(); ++i) {
    if (!sections[i].starts_with('[')) continue;  // prose
    const std::string table = sections[i].substr(1, sections[i].find(']') - 1);
    Keys keys;
    Words words;
    read_table(sections[i], keys, words);
    EXPECT_EQ(keys, keys_of_parser(table, words)) << table;
  }
}

// The canonical text of a recipe has its keys in the page's order (docs/training.md).
TEST(Help, ListsKeysOfSeveralKindsBehindAllThatStandBeforeThem) {
  const std::string help = help_markdown();
  const std::size_t steps = help.find("(kind: flow, edm; sampler: euler) steps of euler");
  ASSERT_NE(steps, std::string::npos);
  for (const char* sampler :
       {"| `sampler` | \"euler\", \"heun\"", "| `sampler` | \"heun\", \"euler\""})
    EXPECT_LT(help.find(sampler), steps) << sampler;
}

TEST(Help, SaysWhereAKeyExistsAndWhatHasNoDefault) {
  const std::string help = help_markdown();
  for (const char* row :
       {"| `horizon` | integer, 1 to 1099511627776 | must be given | yes | (schedule: cosine, "
        "linear) ",
        "| (kind: ddpm; sampler: ddim) timesteps visited",
        "| (kind: flow, edm; sampler: heun) steps of heun", "| `sampler` | \"euler\", \"heun\" |",
        "| (kind: gan, hinge-gan) weight gamma"})
    EXPECT_NE(help.find(row), std::string::npos) << row;
}

}  // namespace
}  // namespace lockstep::recipe
