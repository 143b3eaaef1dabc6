#include "lockstep/data/options.h"

namespace lockstep::data {

void describe(Fields& f, Options& o) {
  o.kind.choose(f, "kind", Effect::kBits, "samples");
  o.kind.describe(f);
}

bool points(const Options& options) {
  return options.kind.row("data.kind").points;
}

std::vector<std::string> files(const Options& options) {
  return options.kind.row("data.kind").files(options);
}

void move_to(Options& options, const std::string& path) {
  options.kind.row("data.kind").move_to(options, path);
}

}  // namespace lockstep::data
