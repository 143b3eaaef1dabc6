#include "lockstep/model/options.h"

namespace lockstep::model {

std::vector<std::string> kinds_of(NetworkType type) {
  std::vector<std::string> words;
  for (const NetworkKind& kind : networks())
    if (kind.type == type) words.emplace_back(kind.word);
  return words;
}

void describe(Fields& f, Options& o) {
  o.kind.choose(f, "kind", Effect::kBits, "architecture of the network");
  o.kind.describe(f);
}

}  // namespace lockstep::model
