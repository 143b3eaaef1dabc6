// Images in files: their options, and how they are found.
#pragma once

#include <string>

#include "lockstep/data/idx.h"
#include "lockstep/data/labels.h"

namespace lockstep::data {

struct ImagesOptions {
  // An IDX file (plain or .gz), a file or a folder of shards made by `lockstep pack` (told apart by
  // content), or a directory with train-images-idx3-ubyte[.gz]. The default is Debian's
  // dataset-fashion-mnist. Not a part of the recipe id: the ledger carries the content hash
  // instead.
  std::string path = "/usr/share/datasets/fashion-mnist";
  // An IDX file of labels. "": in the packed file, or beside the images, by its name (idx.h). For
  // the recipe id as path is.
  std::string labels;
};
inline void describe(Fields& f, ImagesOptions& o) {
  f.field("path", o.path, Effect::kNone,
          "IDX file (plain or .gz), what lockstep pack made, or a directory with "
          "train-images-idx3-ubyte[.gz]");
  f.field(
      "labels", o.labels, none_unless(o.labels, std::string()),
      "IDX file of labels, where classes is not 0; empty: those beside or in the file of images");
}

// Fields and signals in files.
struct ArraysOptions {
  std::string path;    // a file or a folder of shards made by `lockstep pack`; as that of images
  std::string labels;  // as those of images
};
inline void describe(Fields& f, ArraysOptions& o) {
  f.field("path", o.path, Effect::kNone,
          "what lockstep pack made of an array of floats; it has to be given");
  f.field("labels", o.labels, Effect::kNone,
          "IDX file of labels, where classes is not 0; empty: those in the pack");
}

// Images of an IDX or a packed file, in memory; with the labels that `labels` names, or else those
// that are there, if wanted. Throws Error(kData) for what is damaged, and for labels of other
// images.
LabelledImages read_images(const ImagesOptions& options, bool labels_wanted);

// The same of a folder of shards, too, without holding the images: `take` gets their pixels in
// order, in pieces of any size. The result's images are none.
LabelledImages stream_images(const ImagesOptions& options, bool labels_wanted,
                             const PixelSink& take);

}  // namespace lockstep::data
