// The table of the kinds of data: one row a kind.
#include "data/kinds.h"
#include "lockstep/core/error.h"
#include "lockstep/data/image_files.h"
#include "lockstep/data/mixture.h"
#include "lockstep/data/shapes.h"

namespace lockstep::data {
namespace {

std::vector<std::string> no_files(const Options&) {
  return {};
}
void lie_nowhere(Options&, const std::string&) {
  throw Error(Code::kUsage, "--data: the recipe makes its data, which lie nowhere", "leave it out");
}

}  // namespace

std::span<const DatasetKind> datasets() {
  static constexpr DatasetKind kRows[] = {
      {"images", "the pictures of a file", &OptionsOf<ImagesOptions>::make, &open_images,
       SampleKind::kPictures, &files_of_images, &move_images},
      {"fields", "fields of floats, such as maps of a quantity", &OptionsOf<ArraysOptions>::make,
       &open_arrays, SampleKind::kFields, &files_of_arrays, &move_arrays},
      {"signals", "rows of floats, such as time series", &OptionsOf<ArraysOptions>::make,
       &open_arrays, SampleKind::kSignals, &files_of_arrays, &move_arrays},
      {"mixture", "points of a toy mixture", &OptionsOf<MixtureOptions>::make, &open_mixture,
       SampleKind::kPoints, &no_files, &lie_nowhere},
      {"shapes", "toy pictures of coloured shapes", &OptionsOf<ShapesOptions>::make, &open_shapes,
       SampleKind::kPictures, &no_files, &lie_nowhere},
  };
  return kRows;
}

}  // namespace lockstep::data
