// Options as JSON, every key with its value: for programs that read no recipe.
#pragma once

#include "lockstep/core/json.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {

// {"kind": "unet", "channels": [32, 64], …}
Json to_json(const model::Options& options);

}  // namespace lockstep::recipe
