// What a recipe says about its data: the table [data].
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/core/kinds.h"

namespace lockstep::data {

inline constexpr std::int64_t kMostClasses = 65536;
inline constexpr std::int64_t kMostCrop = 1024;
inline constexpr std::int64_t kMostHeldOut = std::int64_t{1} << 24;

class Dataset;
struct Options;

// What samples are.
enum class SampleKind {
  kPictures,  // [h, w, c] out of bytes, from -1 to 1
  kFields,    // [h, w, c], floats as they are
  kSignals,   // [length], floats as they are
  kPoints     // of the plane, [2]
};

// A row of the kinds of data.
struct DatasetKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  std::unique_ptr<Dataset> (*open)(const Options& options);
  SampleKind samples;
  // See files and move_to.
  std::vector<std::string> (*files)(const Options& options);
  void (*move_to)(Options& options, const std::string& path);
};
std::span<const DatasetKind> datasets();

struct Options {
  Kind<DatasetKind> kind{datasets()};
  std::int64_t classes = 0;  // of labels, 0 to kMostClasses; 0: labels are not read
  bool flip = false;         // half of the draws are mirrored, left and right (augment.h)
  std::int64_t crop = 0;     // pixels, 0 to kMostCrop: each draw is moved by as many at most
  // Samples that training never draws (order.h), for run.validate_every; below the samples there
  // are.
  std::int64_t holdout = 0;
};
void describe(Fields& fields, Options& options);

SampleKind samples_of(const Options& options);
// Are samples points of the plane?
bool points(const Options& options);
// Are samples fields or signals: floats as they are, in no range?
bool arrays(const Options& options);

// The files and folders that opening the data reads, the samples' own first; they need not be
// there. Empty: the recipe makes the samples.
std::vector<std::string> files(const Options& options);

// The same data, which lies at `path` now (--data). Throws Error(kUsage) where the recipe makes the
// samples.
void move_to(Options& options, const std::string& path);

}  // namespace lockstep::data
