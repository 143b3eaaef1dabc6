// JSON that anybody may have made.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "lockstep/core/foreign.h"

namespace lockstep {

// The one way to parse it. A discarded value for what is no JSON, has more than kMostJson bytes, or
// is deeper than kDeepestJson: whoever copies or prints a value goes down into it by recursion.
template <class Json>
Json parse_json(std::string_view text) {
  struct TooDeep {};
  const auto shallow = [](int depth, typename Json::parse_event_t, Json&) {
    return depth <= kDeepestJson ? true : throw TooDeep();
  };
  try {
    if (text.size() <= kMostJson) return Json::parse(text, shallow, /*allow_exceptions=*/false);
  } catch (const TooDeep&) {  // one answer to all
  }
  return Json(Json::value_t::discarded);
}

}  // namespace lockstep
