#include "audit/picture_claims.h"

#include "lockstep/core/text.h"
#include "lockstep/train/picture.h"

namespace lockstep::audit {
namespace {

// Of "0 to 63" the 64.
std::int64_t samples_in(const std::string& text) {
  const auto last =
      text.starts_with("0 to ") ? parse_int(text.substr(5)) : std::optional<std::int64_t>();
  return last && *last < std::int64_t{1} << 40 ? *last + 1 : 0;
}

}  // namespace

std::vector<Finding> misfits(const train::RunFolder& folder, const std::filesystem::path& picture,
                             const data::Provenance& texts, const ledger::Ledger& ledger) {
  const std::string file = picture.string(), number = data::value_of(texts, "step");
  const auto step = parse_int(number);
  if (!step || *step < 1) return {{Code::kDiffer, file + ": it does not name its step"}};
  std::vector<Finding> found;
  if (folder.sample(Step(*step)).stem() != picture.stem())
    found.push_back({Code::kDiffer, file + ": its name does not match its step, " + number});
  if (Step(*step) > ledger.last()) {
    found.push_back({Code::kCorrupt, "ledger.jsonl ends at step " +
                                         std::to_string(ledger.last().value) + ", but " + file +
                                         " is of step " + number + ": the ledger was cut"});
    return found;
  }
  const hash::Digest& state = ledger.at(Step(*step)).state;
  if (data::value_of(texts, "recipe") != ledger.header.recipe.hex())
    found.push_back({Code::kDiffer, file + ": it was made by another recipe"});
  if (data::value_of(texts, "state") != state.hex())
    found.push_back({Code::kDiffer, file + ": it was made from another state than the ledger's"});
  // Nothing more, and in this order: another text could say anything.
  const std::int64_t samples = samples_in(data::value_of(texts, "samples"));
  if (found.empty() &&
      texts != train::provenance(ledger.header.recipe, Step(*step), state, 0, samples))
    found.push_back({Code::kDiffer, file + ": its texts are not those that training writes"});
  return found;
}

}  // namespace lockstep::audit
