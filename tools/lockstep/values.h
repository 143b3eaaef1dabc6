// How value differences are shown: ulps, their median and histogram.
#pragma once

#include <string>

#include "lockstep/core/json.h"
#include "lockstep/state/compare.h"

namespace lockstep::cli {

Json values_json(const state::ValueDifference& values);
// "1", "2-3", "4-7": the range that holds the median; "-" without finite pairs.
std::string median_ulps(const state::ValueDifference& values);
// One line for each range that occurs: "       4-7  ######  120".
std::string histogram(const state::ValueDifference& values);

// The first 12 digits of a hash; any other fact as it is; "-" for "".
std::string brief(const std::string& fact);

}  // namespace lockstep::cli
