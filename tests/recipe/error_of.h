// What a recipe's text is refused with.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lockstep/core/error.h"
#include "lockstep/recipe/load.h"

namespace lockstep::recipe {

inline std::string error_of(const std::string& text) {
  try {
    parse(text, "a.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.what();
  }
  return "no error";
}

}  // namespace lockstep::recipe
