// How value differences are shown: ulps, their median and histogram.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lockstep/state/compare.h"

namespace lockstep::cli {

nlohmann::ordered_json values_json(const state::ValueDifference& values);
// "1", "2-3", "4-7": the range that holds the median; "-" without finite pairs.
std::string median_ulps(const state::ValueDifference& values);
// A line a range that occurs: "       4-7  ######  120".
std::string histogram(const state::ValueDifference& values);

std::string right(const std::string& text, std::size_t width);  // aligned

}  // namespace lockstep::cli
