#include "lockstep/data/dataset.h"

#include "lockstep/core/error.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/mixture.h"
#include "lockstep/data/pack.h"
#include "lockstep/data/shapes.h"

namespace lockstep::data {

std::int64_t Dataset::sample_values() const {
  std::int64_t values = 1;
  for (const std::int64_t d : sample_shape()) values *= d;
  return values;
}

std::unique_ptr<Dataset> open(const Options& options) {
  if (options.kind == "mixture") return std::make_unique<Mixture>(options.mixture);
  if (options.kind == "shapes") return std::make_unique<Shapes>(options.shapes);
  if (options.kind == "images") {
    const std::filesystem::path path = find_idx(options.path);
    if (is_pack(path)) return read_pack(path);
    return read_idx(path);
  }
  throw Error(Code::kUsage, "data.kind: '" + options.kind + "' is not a kind of data",
              "use \"images\", \"mixture\" or \"shapes\"");
}

}  // namespace lockstep::data
