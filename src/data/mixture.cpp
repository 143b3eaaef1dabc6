#include "lockstep/data/mixture.h"

#include "data/kinds.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/data/labels.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/numerics/stream.h"

namespace lockstep::data {
namespace {

constexpr double kTwoPi = 6.283185307179586;

std::vector<float> ring(std::int64_t modes, double radius) {
  std::vector<float> centres;
  for (std::int64_t k = 0; k < modes; ++k) {
    const double angle = kTwoPi * static_cast<double>(k) / static_cast<double>(modes);
    centres.push_back(static_cast<float>(radius * numerics::host::cos(angle)));
    centres.push_back(static_cast<float>(radius * numerics::host::sin(angle)));
  }
  return centres;
}

// Every parameter that changes a sample, and nothing else.
std::string canonical_text(const MixtureOptions& o) {
  return "lockstep mixture 1\nmodes = " + std::to_string(o.modes) +
         "\nradius = " + to_text(o.radius) + "\nstddev = " + to_text(o.stddev) +
         "\ncount = " + std::to_string(o.count) + "\nseed = " + std::to_string(o.seed) + "\n";
}

}  // namespace

Mixture::Mixture(const MixtureOptions& options, std::int64_t classes)
    : options_(options),
      classes_(classes),
      centres_(ring(options.modes, options.radius)),
      stddev_(static_cast<float>(options.stddev)),
      stream_(numerics::stream(static_cast<std::uint64_t>(options.seed), "data/mixture")),
      hash_(hash::sha256(as_bytes(canonical_text(options)))) {
  LOCKSTEP_ASSERT(options.modes >= 1 && options.modes <= UINT32_MAX && options.count >= 1);
  if (classes == 0) return;
  require_classes(classes, options.modes, "modes");
  hash_ = labelled_hash(hash_);
}

std::uint32_t Mixture::mode(Sample sample) const {
  LOCKSTEP_ASSERT(sample.value >= 0 && sample.value < options_.count,
                  "sample " + std::to_string(sample.value));
  return numerics::draw_below(stream_, static_cast<std::uint64_t>(sample.value), 2,
                              static_cast<std::uint32_t>(options_.modes));
}

std::int64_t Mixture::label(Sample sample) const {
  LOCKSTEP_ASSERT(classes_ > 0);
  return mode(sample);
}

void Mixture::read(Sample sample, float* out) const {
  const auto position = static_cast<std::uint64_t>(sample.value);
  float normal[2];
  numerics::Cpu cpu;
  cpu.fill_normal(stream_, position, 1, 2, normal);
  cpu.scale_add(2, stddev_, normal, centres_.data() + 2 * std::size_t{mode(sample)}, out);
}

std::unique_ptr<Dataset> open_mixture(const Options& options) {
  return std::make_unique<Mixture>(options.kind.as<MixtureOptions>(), options.classes);
}

}  // namespace lockstep::data
