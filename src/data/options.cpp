#include "lockstep/data/options.h"

namespace lockstep::data {

void describe(Fields& f, Options& o) {
  f.choice("kind", o.kind, {"images", "mixture", "shapes"}, Effect::kBits,
           "images of a file, points of a toy mixture, or toy pictures of coloured shapes");
  if (o.kind == "images") {
    f.field("path", o.path, Effect::kNone,
            "IDX file (plain or .gz), packed file, or a directory with "
            "train-images-idx3-ubyte[.gz]");
  }
  if (o.kind == "shapes") {
    f.begin("shapes", "discs, squares and stripes on a ground");
    f.field("side", o.shapes.side, 8, 256, Effect::kBits, "pixels of a picture's side");
    f.field("count", o.shapes.count, 1, std::int64_t{1} << 40, Effect::kBits,
            "pictures in an epoch");
    f.field("seed", o.shapes.seed, 0, INT64_MAX, Effect::kBits, "of the pictures");
    f.end();
  }
  if (o.kind != "mixture") return;
  f.begin("mixture", "Gaussians evenly on a ring");
  f.field("modes", o.mixture.modes, 1, 1 << 20, Effect::kBits, "number of Gaussians");
  f.field("radius", o.mixture.radius, 0.0, 1e6, Effect::kBits, "of the ring");
  f.field("stddev", o.mixture.stddev, 0.0, 1e6, Effect::kBits, "of each Gaussian");
  f.field("count", o.mixture.count, 1, std::int64_t{1} << 40, Effect::kBits, "samples in an epoch");
  f.field("seed", o.mixture.seed, 0, INT64_MAX, Effect::kBits, "of the points");
  f.end();
}

}  // namespace lockstep::data
