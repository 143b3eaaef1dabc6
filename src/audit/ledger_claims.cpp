#include "audit/ledger_claims.h"

#include <algorithm>

#include "lockstep/recipe/canonical.h"

namespace lockstep::audit {

void check_head(const train::RunFolder& folder, const ledger::Ledger& ledger,
                const std::optional<hash::Digest>& kept, VerifyResult& result) {
  if (!kept || *kept == ledger.header.chain ||
      std::ranges::find(ledger.entries, *kept, &ledger::Entry::chain) != ledger.entries.end())
    return;
  result.findings.push_back({Code::kCorrupt, folder.ledger().string() + ": no line has the chain " +
                                                 kept->brief() +
                                                 ": it was rolled back to before that line, or is "
                                                 "of another run"});
}

void check_states(const train::RunFolder& folder, const ledger::Ledger& ledger,
                  VerifyResult& result) {
  for (std::size_t i = 1; i < ledger.entries.size(); ++i) {
    if (ledger.entries[i].before == ledger.entries[i - 1].state) continue;
    result.findings.push_back({Code::kDiffer, folder.ledger().string() + ": step " +
                                                  std::to_string(i + 1) +
                                                  " did not start from the state that step " +
                                                  std::to_string(i) + " left"});
  }
}

void check_start(const train::RunFolder& folder, const ledger::Ledger& ledger,
                 const recipe::Recipe& recipe, const std::optional<train::Shape>& shape,
                 VerifyResult& result) {
  if (ledger.entries.empty() || recipe::starts_from_state(recipe) ||
      recipe::id(recipe) != ledger.header.recipe)
    return;
  const std::string not_compared =
      "the state that step 1 starts from is not compared with that of recipe and seed";
  if (!shape) {
    result.notes.push_back(not_compared + " (--data)");
    return;
  }
  try {
    if (train::digest_of_start(recipe, *shape) == ledger.entries.front().before) return;
    result.findings.push_back(
        {Code::kDiffer, folder.ledger().string() +
                            ": step 1 did not start from the state that recipe and seed make"});
  } catch (const Error& error) {
    // No network has samples of that shape, which others tell; or native numerics are not here.
    if (error.code() != Code::kUsage && error.code() != Code::kEnvironment) throw;
    result.notes.push_back(not_compared + ": " + error.message());
  }
}

}  // namespace lockstep::audit
