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
  using Event = typename Json::parse_event_t;
  const auto shallow = [](int depth, Event event, Json&) {  // depth: of what it begins in
    const bool begins = event == Event::object_start || event == Event::array_start;
    if (begins && depth >= kDeepestJson) throw TooDeep();
    return true;
  };
  try {
    if (text.size() <= kMostJson) return Json::parse(text, shallow, /*allow_exceptions=*/false);
  } catch (const TooDeep&) {  // one answer to all
  }
  return Json(Json::value_t::discarded);
}

}  // namespace lockstep
