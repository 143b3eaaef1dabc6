#include "report/draw.h"

#include <algorithm>
#include <set>

#include "lockstep/core/text.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/train/picture.h"

namespace lockstep::report {
namespace {

// Units of the SVG: about CSS pixels where two charts stand side by side.
constexpr double kWidth = 420, kHeight = 190, kLeft = 52, kRight = 404, kTop = 10, kBottom = 152;
constexpr std::size_t kColumns = 360;     // a unit each
constexpr double kLogarithmicFrom = 100;  // factor between lowest and highest

std::string at(double value) {
  return fixed(value, 1);
}

// Where values lie between two ends.
struct Axis {
  double low, high;   // of the values
  double begin, end;  // of the picture
  bool logarithmic = false;

  double operator()(double value) const {
    const auto scaled = [&](double v) { return logarithmic ? numerics::host::log(v) : v; };
    const double range = scaled(high) - scaled(low);
    const double share = range > 0 ? (scaled(value) - scaled(low)) / range : 0.5;
    return begin + (end - begin) * std::clamp(share, 0.0, 1.0);
  }
};

Axis y_axis(const Envelope& curve, bool may_be_logarithmic) {
  Axis axis{curve.low, curve.high, kBottom, kTop};
  axis.logarithmic =
      may_be_logarithmic && curve.low > 0 && curve.high / curve.low >= kLogarithmicFrom;
  if (axis.logarithmic) return axis;
  const double range = curve.high - curve.low, size = std::max(curve.high, -curve.low);
  // No closer than labels have room for digits.
  const double room = range > 0 ? std::max(range * 0.05, size * 1e-5) : size > 0 ? size / 2 : 1;
  axis.low -= room;
  axis.high += room;
  if (curve.low >= 0 && axis.low < 0) axis.low = 0;
  return axis;
}

Html line(double x1, double y1, double x2, double y2, const char* kind) {
  return empty_element(
      "line", {{"x1", at(x1)}, {"y1", at(y1)}, {"x2", at(x2)}, {"y2", at(y2)}, {"class", kind}});
}

Html words(double x, double y, const char* kind, const std::string& what) {
  return element("text", {{"x", at(x)}, {"y", at(y)}, {"class", kind}}, text(what));
}

Html axes(const Chart& chart, const Axis& x, const Axis& y) {
  Html out;
  const auto values = y.logarithmic ? log_ticks(y.low, y.high) : ticks(y.low, y.high, /*most=*/5);
  const auto names = y.logarithmic ? log_tick_labels(values) : tick_labels(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += line(kLeft, y(values[i]), kRight, y(values[i]), "grid");
    out += words(kLeft - 6, y(values[i]) + 4, "end", names[i]);
  }
  // A label per tick would not fit below long numbers.
  for (const double tick : ticks(x.low, x.high, /*most=*/5)) {
    if (tick != static_cast<double>(static_cast<std::int64_t>(tick)) && chart.x_name == "step")
      continue;
    out += line(x(tick), kBottom, x(tick), kBottom + 4, "axis");
    out += words(x(tick), kBottom + 17, "middle", brief(tick));
  }
  out += line(kLeft, kBottom, kRight, kBottom, "axis");
  out += words((kLeft + kRight) / 2, kHeight - 4, "middle", chart.x_name);
  for (const double mark : chart.marks) out += line(x(mark), kTop, x(mark), kBottom, "mark");
  return out;
}

// Lowest and highest values of each column, as an area.
Html band(const std::vector<Column>& piece, const Axis& x, const Axis& y) {
  std::string path;
  for (const Column& column : piece)
    path += (path.empty() ? "M" : "L") + at(x(column.x())) + " " + at(y(column.high));
  for (auto column = piece.rbegin(); column != piece.rend(); ++column)
    path += "L" + at(x(column->x())) + " " + at(y(column->low));
  return empty_element("path", {{"d", path + "Z"}, {"class", "band"}});
}

Html curve_of(const Envelope& curve, const Axis& x, const Axis& y) {
  Html out;
  for (const auto& piece : curve.pieces) {
    if (piece.size() == 1) {
      const double place = x(piece[0].x());
      out += line(place, y(piece[0].low), place, y(piece[0].high), "curve");
      out += empty_element(
          "circle",
          {{"cx", at(place)}, {"cy", at(y(piece[0].mean))}, {"r", "2.5"}, {"class", "point"}});
      continue;
    }
    if (curve.binned) out += band(piece, x, y);
    std::string path;
    for (const Column& column : piece)
      path += (path.empty() ? "M" : "L") + at(x(column.x())) + " " + at(y(column.mean));
    out += empty_element("path", {{"d", path}, {"class", "curve"}});
  }
  for (const double odd : curve.odd)  // a triangle at the top
    out += empty_element(
        "path", {{"d", "M" + at(x(odd) - 4) + " " + at(kTop - 8) + "h8l-4 7Z"}, {"class", "odd"}});
  return out;
}

// For the script that shows values under the pointer: place; x or its first and last; mean, lowest
// and highest.
std::string columns_of(const Envelope& curve, const Axis& x) {
  std::string out;
  for (const auto& piece : curve.pieces)
    for (const Column& column : piece) {
      out += (out.empty() ? "" : ";") + at(x(column.x())) + "," + brief(column.first);
      if (column.points > 1) out += "," + brief(column.last);
      out += "," + brief(column.mean);
      if (column.points > 1) out += "," + brief(column.low) + "," + brief(column.high);
    }
  return out;
}

std::string place(const Chart& chart, double x) {
  return chart.x_name == "step" ? "step " + brief(x) : brief(x) + " " + chart.x_name;
}

std::string in_words(const Chart& chart, const Envelope& curve) {
  const Point *low = nullptr, *high = nullptr, *last = nullptr;
  for (const Point& point : chart.points) {
    if (!(point.y >= -kLargest && point.y <= kLargest)) continue;
    if (!low || point.y < low->y) low = &point;
    if (!high || point.y > high->y) high = &point;
    last = &point;
  }
  std::string caption;
  if (last)
    caption = "last " + brief(last->y) + "; lowest " + brief(low->y) + " at " +
              place(chart, low->x) + "; highest " + brief(high->y) + " at " + place(chart, high->x);
  if (curve.not_finite > 0)
    caption += (caption.empty() ? "" : "; ") + std::to_string(curve.not_finite) +
               (curve.not_finite == 1 ? " value is" : " values are") + " not finite (▼)";
  return caption.empty() ? "no values" : caption;
}

Html track(const Track& track, double last) {
  constexpr double kUnits = 1000;
  const Axis x{0, std::max(last, 1.0), 0, kUnits};
  Html marks;
  for (const auto& [from, to] : track.bars)
    marks += empty_element("rect", {{"x", at(x(from))},
                                    {"y", "2"},
                                    {"width", at(std::max(x(to) - x(from), 1.0))},
                                    {"height", "8"},
                                    {"class", "bar"}});
  std::set<std::string> drawn;
  for (const double tick : track.ticks)
    if (drawn.insert(at(x(tick))).second) marks += line(x(tick), 1, x(tick), 11, "tick");
  const Html svg = element("svg",
                           {{"viewBox", "0 0 1000 12"},
                            {"preserveAspectRatio", "none"},
                            {"role", "img"},
                            {"aria-label", track.words},
                            {"class", track.wrong ? "track wrong" : "track"}},
                           marks);
  return element("dt", text(track.name)) + element("dd", svg) + "\n"_html;
}

}  // namespace

Html draw(const Chart& chart) {
  const Envelope curve = envelope(chart.points, kColumns, chart.gaps);
  const Axis x{chart.x_first, chart.x_last, kLeft, kRight};
  const Axis y = y_axis(curve, chart.may_be_logarithmic);
  std::string unit = chart.unit;
  if (y.logarithmic) unit += (unit.empty() ? "" : ", ") + std::string("logarithmic");
  const std::string caption = in_words(chart, curve);
  Html picture = axes(chart, x, y);
  if (curve.empty()) picture = words((kLeft + kRight) / 2, 90, "middle", "no finite values");
  const Html svg = element("svg",
                           {{"viewBox", "0 0 " + brief(kWidth) + " " + brief(kHeight)},
                            {"role", "img"},
                            {"aria-label", chart.title + ": " + caption},
                            {"class", "chart"},
                            {"data-x", chart.x_name},
                            {"data-v", columns_of(curve, x)}},
                           picture + curve_of(curve, x, y));
  const Html title = element("b", text(chart.title)) +
                     (unit.empty() ? Html{} : element("span", text(" (" + unit + ")")));
  return element("figure", element("figcaption", title) + svg +
                               element("p", {{"class", "said"}}, text(caption))) +
         "\n"_html;
}

Html draw_points(const data::Picture& scatter, const std::string& caption) {
  constexpr double kSide = train::kScatterSide, kBegin = 26, kAbove = 6;  // a unit a pixel
  const Axis x{-train::kScatterRange, train::kScatterRange, kBegin, kBegin + kSide};
  const Axis y{-train::kScatterRange, train::kScatterRange, kAbove + kSide, kAbove};
  Html plane;
  for (const int tick : {-1, 0, 1}) {
    plane += line(x(tick), kAbove, x(tick), kAbove + kSide, "grid");
    plane += line(kBegin, y(tick), kBegin + kSide, y(tick), "grid");
    plane += words(x(tick), kAbove + kSide + 15, "middle", std::to_string(tick));
    plane += words(kBegin - 6, y(tick) + 4, "end", std::to_string(tick));
  }
  std::string path;
  for (std::int64_t i = 0; i < std::ssize(scatter.pixels); ++i)
    if (scatter.pixels[static_cast<std::size_t>(i)] != 0)
      path += "M" + at(kBegin + 0.5 + static_cast<double>(i % scatter.width)) + " " +
              at(kAbove + 0.5 + static_cast<double>(i / scatter.width)) + "h0";
  plane += empty_element("path", {{"d", path}, {"class", "points"}});
  return element("svg",
                 {{"viewBox", "0 0 288 282"},
                  {"role", "img"},
                  {"aria-label", caption},
                  {"class", "chart scatter"}},
                 plane);
}

Html draw(const std::vector<Track>& tracks, double last) {
  Html rows;
  for (const Track& one : tracks) rows += track(one, last);
  const Html ends = element("span", text("step 0")) + element("span", text(brief(last)));
  rows += element("dt", Html{}) + element("dd", {{"class", "ends"}}, ends);
  return element("dl", {{"class", "timeline"}}, rows) + "\n"_html;
}

}  // namespace lockstep::report
