#include "lockstep/recipe/help.h"

#include <gtest/gtest.h>

#include "lockstep/core/file_system.h"

namespace lockstep::recipe {
namespace {

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

}  // namespace
}  // namespace lockstep::recipe
