// What a recipe says about its data: the table [data].
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/fields.h"

namespace lockstep::data {

// A toy: points around `modes` centres that lie evenly on a ring. See mixture.h.
struct MixtureOptions {
  std::int64_t modes = 8;
  double radius = 1.0;
  double stddev = 0.05;
  std::int64_t count = 1 << 20;  // samples in an epoch; computed when read, so any number is free
  std::int64_t seed = 0;         // of the points, so that the data does not change with run.seed
};

// Toy pictures: coloured discs, squares and stripes. See shapes.h.
struct ShapesOptions {
  std::int64_t side = 32;
  std::int64_t count = 1 << 16;  // pictures in an epoch; computed when read, so any number is free
  std::int64_t seed = 0;         // of the pictures, so that the data does not change with run.seed
};

struct Options {
  std::string kind = "images";  // "images", "mixture" or "shapes"

  // images: an IDX file (plain or .gz), a file made by `lockstep pack` (told apart by content), or
  // a directory with train-images-idx3-ubyte[.gz]. The default is Debian's dataset-fashion-mnist.
  // Not a part of the recipe id: the ledger carries the content hash instead.
  std::string path = "/usr/share/datasets/fashion-mnist";

  std::int64_t classes = 0;
  MixtureOptions mixture;
  ShapesOptions shapes;
};

// Lists only what belongs to the kind: a recipe of images has no [data.mixture] and the reverse.
void describe(Fields& fields, Options& options);

}  // namespace lockstep::data
