// Options of images: where their files are.
#pragma once

#include <string>

#include "lockstep/core/fields.h"

namespace lockstep::data {

struct ImagesOptions {
  // An IDX file (plain or .gz), a file made by `lockstep pack` (told apart by content), or a
  // directory with train-images-idx3-ubyte[.gz]. The default is Debian's dataset-fashion-mnist.
  // Not a part of the recipe id: the ledger carries the content hash instead.
  std::string path = "/usr/share/datasets/fashion-mnist";
};
inline void describe(Fields& f, ImagesOptions& o) {
  f.field("path", o.path, Effect::kNone,
          "IDX file (plain or .gz), packed file, or a directory with train-images-idx3-ubyte[.gz]");
}

}  // namespace lockstep::data
