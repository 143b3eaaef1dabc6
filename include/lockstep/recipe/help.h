// The list of all keys of a recipe, for docs/recipes.md and `lockstep train --help-recipe`.
#pragma once

#include <string>

namespace lockstep::recipe {

// Markdown: a table a section with key, type and range, default, whether it changes bits, meaning.
std::string help_markdown();

}  // namespace lockstep::recipe
