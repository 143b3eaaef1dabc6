#include "data_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "lockstep/core/log.h"
#include "output.h"

namespace lockstep::cli {
namespace {

using data::Moments;

Moments of_all(const std::vector<Moments>& channels) {
  Moments all;
  for (const Moments& one : channels) all.merge(one);
  return all;
}

// Four digits.
std::string brief(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4);
  return {text.data(), end.ptr};
}

std::string text_of(const Moments& moments) {
  return "mean " + brief(moments.mean()) + ", deviation " + brief(moments.deviation()) + ", from " +
         brief(moments.least()) + " to " + brief(moments.most());
}

Json json_of(const Moments& moments) {
  return {{"mean", moments.mean()},
          {"deviation", moments.deviation()},
          {"min", moments.least()},
          {"max", moments.most()}};
}

}  // namespace

void put_shape(Json& out, const data::ImageShape& shape) {
  out[std::string(word_of(shape.kind))] = shape.n;
  if (shape.kind == data::SampleKind::kSignals) {
    out["length"] = shape.w;
    return;
  }
  out["height"] = shape.h;
  out["width"] = shape.w;
  out["channels"] = shape.c;
}

std::string counted_samples(const data::ImageShape& shape) {
  return data::counted_images(static_cast<std::uint64_t>(shape.n), shape.kind);
}

void put_moments(Json& out, const std::vector<Moments>& channels) {
  out["values"] = json_of(of_all(channels));
  if (channels.size() == 1) return;
  out["channel_values"] = Json::array();
  for (const Moments& one : channels) out["channel_values"].push_back(json_of(one));
}

void print_moments(const std::vector<Moments>& channels) {
  print_line("values: ", text_of(of_all(channels)));
  for (std::size_t i = 0; channels.size() > 1 && i < channels.size(); ++i)
    print_line("channel ", i, ": ", text_of(channels[i]));
}

constexpr double kMostOfOther = 100;  // few quantities reach so far, and not below 0

void warn_of_pictures(const data::ImageShape& shape, const std::vector<Moments>& channels) {
  const Moments all = of_all(channels);
  if (shape.kind != data::SampleKind::kFields || (shape.c != 1 && shape.c != 3) || all.least() < 0)
    return;
  const bool bytes = all.most() > kMostOfOther && all.most() <= 255;
  if (all.most() <= 1 || bytes)
    log::warn("all values lie within 0 and " + std::string(bytes ? "255" : "1") +
              ": if these are pictures, pack them as such, saved as numpy.uint8(numpy.round(" +
              (bytes ? "x" : "255 * x") + "))");
}

void warn_of_moments(const std::vector<Moments>& channels) {
  const auto far = std::ranges::find_if(channels, data::far_from_standard);
  if (far == channels.end()) return;
  const std::string which =
      channels.size() > 1 ? "channel " + std::to_string(far - channels.begin()) + ": " : "";
  log::warn(which + "mean " + brief(far->mean()) + ", deviation " + brief(far->deviation()) +
            ": training does not normalise and expects about 0 and 1: pack (x - mean) / deviation, "
            "and keep both numbers");
}

}  // namespace lockstep::cli
