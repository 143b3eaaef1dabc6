// What replays.jsonl tells: which steps were computed again, and whether they agreed. It is no
// evidence itself.
#pragma once

#include <vector>

#include "train/report_facts.h"
#include "train/report_html.h"

namespace lockstep::train::report {

// Steps, the first and the last of them too.
struct Window {
  std::int64_t from, to;
};

// What one replay computed, within the ledger.
std::vector<Window> windows_of(const Facts& facts, const Json& replay);
bool agrees(const Json& replay);

// The steps that some replay computed and found right: rising, apart from each other.
std::vector<Window> replayed(const Facts& facts);

// "1 to 70, 90 and 200 to 300".
std::string in_words(const std::vector<Window>& windows);

// "Steps 1 to 70 of 300 were computed again and agreed; 71 to 300 were not."; of no step: "".
std::string coverage(const Facts& facts);

Html of_replays(const Facts& facts);

}  // namespace lockstep::train::report
