// What replays.jsonl says: which steps were computed again, and whether they agreed. It is no
// evidence itself.
#pragma once

#include <vector>

#include "report/facts.h"
#include "report/html.h"

namespace lockstep::report {

// Steps from `from` to `to`, both included.
struct Window {
  std::int64_t from, to;
};

// What one replay computed, within the ledger.
std::vector<Window> windows_of(const Facts& facts, const Json& replay);
bool agrees(const Json& replay);

// The steps that some replay computed and found right: rising windows with gaps between them.
std::vector<Window> replayed(const Facts& facts);

// "1 to 70, 90 and 200 to 300".
std::string in_words(const std::vector<Window>& windows);

// "Steps 1 to 70 of 300 were computed again and agreed; 71 to 300 were not."; "" if none was.
std::string coverage(const Facts& facts);

Html of_replays(const Facts& facts);

}  // namespace lockstep::report
