#include "lockstep/data/options.h"

namespace lockstep::data {

void describe(Fields& f, Options& o) {
  o.kind.choose(f, "kind", Effect::kBits, "samples");
  f.field("classes", o.classes, 0, kMostClasses, bits_unless(o.classes, std::int64_t{0}),
          "number of classes; 0: labels are not read");
  f.field("flip", o.flip, bits_unless(o.flip, false),
          "mirror half of the draws, left and right; pictures and fields only");
  f.field("crop", o.crop, 0, kMostCrop, bits_unless(o.crop, std::int64_t{0}),
          "move each draw by up to so many pixels, up or down, left or right; what comes in is the "
          "picture reflected; 0: none; pictures and fields only");
  f.field("holdout", o.holdout, 0, kMostHeldOut, bits_unless(o.holdout, std::int64_t{0}),
          "samples that training never draws, chosen by run.seed; run.validate_every measures the "
          "loss on them");
  o.kind.describe(f);
}

SampleKind samples_of(const Options& options) {
  return options.kind.row("data.kind").samples;
}

bool points(const Options& options) {
  return samples_of(options) == SampleKind::kPoints;
}

bool arrays(const Options& options) {
  const SampleKind samples = samples_of(options);
  return samples == SampleKind::kFields || samples == SampleKind::kSignals;
}

std::vector<std::string> files(const Options& options) {
  return options.kind.row("data.kind").files(options);
}

void move_to(Options& options, const std::string& path) {
  options.kind.row("data.kind").move_to(options, path);
}

}  // namespace lockstep::data
