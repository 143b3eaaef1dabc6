#include "report/curve.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "lockstep/core/text.h"
#include "report/html.h"

namespace lockstep::report {
namespace {

bool is_drawn(const Point& point) {
  return point.y >= -kLargest && point.y <= kLargest;
}

// Points that share a column.
struct Bin {
  double first = 0, last = 0;  // x of all its points
  Column column;               // of the finite ones
  double sum = 0, weight = 0;
  std::int64_t odd = 0;

  void add(const Point& point) {
    if (column.points + odd == 0) first = point.x;
    last = point.x;
    if (!is_drawn(point)) {
      ++odd;
      return;
    }
    if (column.points == 0) column = {point.x, point.x, point.y, point.y, 0, 0};
    column.last = point.x;
    column.low = std::min(column.low, point.y);
    column.high = std::max(column.high, point.y);
    sum += point.y * point.weight;
    weight += point.weight;
    ++column.points;
  }

  Column done() const {
    Column result = column;
    result.mean = std::clamp(sum / weight, column.low, column.high);
    return result;
  }
};

std::vector<Bin> bins_of(std::span<const Point> points, std::size_t columns) {
  std::vector<Bin> bins;
  if (points.size() <= columns) {
    for (const Point& point : points) bins.emplace_back().add(point);
    return bins;
  }
  const double begin = points.front().x, width = points.back().x - begin;
  std::size_t current = columns;  // none yet
  for (const Point& point : points) {
    const double share = width > 0 ? (point.x - begin) / width : 0;
    const auto at =
        std::min(columns - 1, static_cast<std::size_t>(share * static_cast<double>(columns)));
    if (at != current) bins.emplace_back();
    current = at;
    bins.back().add(point);
  }
  return bins;
}

double usual_distance(std::span<const Point> points) {
  std::vector<double> distances;
  for (std::size_t i = 1; i < points.size(); ++i)
    distances.push_back(points[i].x - points[i - 1].x);
  if (distances.empty()) return 0;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return *middle;
}

// The largest power of ten, times `factor`, that is at most `value` > 0.
double power_of_ten(double value) {
  double power = 1;
  while (power > value) power /= 10;
  while (power * 10 <= value) power *= 10;
  return power;
}

std::string scientific(double value, int decimals) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific, decimals)
                       .ptr;
  return {buffer.data(), end};
}

// Of the first digit: -2 for 0.05.
int exponent(double value) {
  const std::string digits = scientific(value, 0);
  const std::size_t sign = digits.find('e') + 1;
  const auto size = static_cast<int>(parse_int(digits.substr(sign + 1)).value_or(0));
  return digits[sign] == '-' ? -size : size;
}

std::size_t longest(const std::vector<std::string>& names) {
  std::size_t most = 0;
  for (const std::string& name : names) most = std::max(most, name.size());
  return most;
}

}  // namespace

Envelope envelope(std::span<const Point> points, std::size_t columns, Gaps gaps) {
  Envelope result;
  result.binned = points.size() > columns;
  const double usual = usual_distance(points);
  bool open = false;
  double before = 0;
  for (const Bin& bin : bins_of(points, columns)) {
    result.not_finite += bin.odd;
    if (bin.odd > 0) result.odd.push_back(bin.first);
    if (gaps == Gaps::kByDistance && bin.first - before > 2 * usual) open = false;
    before = bin.last;
    if (bin.column.points == 0) {
      open = false;
      continue;
    }
    const Column column = bin.done();
    result.low = result.empty() ? column.low : std::min(result.low, column.low);
    result.high = result.empty() ? column.high : std::max(result.high, column.high);
    if (!open) result.pieces.emplace_back();
    result.pieces.back().push_back(column);
    open = true;
  }
  return result;
}

std::vector<double> ticks(double low, double high, int most) {
  std::vector<double> result;
  const double range = high - low;
  if (!(range > 0) || !(range < kLargest) || range < 1e-290) return result;
  const double rough = range / most;
  double step = power_of_ten(rough);
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (rough <= step * factor) {
      step *= factor;
      break;
    }
  const double first = low / step;
  if (!(first > -1e15 && first < 1e15)) return result;  // the range is lost in the value's digits
  for (auto i = static_cast<std::int64_t>(first) - 1;; ++i) {
    const double tick = static_cast<double>(i) * step;
    if (tick > high) return result;
    if (tick >= low) result.push_back(tick);
  }
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> result;
  if (!(low > 1e-290)) return result;
  const bool few = high / low < 1000;  // 2 and 5 times the powers, too
  for (double power = power_of_ten(low); power <= high; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if ((few || factor == 1.0) && power * factor >= low && power * factor <= high)
        result.push_back(power * factor);
  while (result.size() > 6) {  // every second one
    std::vector<double> half;
    for (std::size_t i = 0; i < result.size(); i += 2) half.push_back(result[i]);
    result = half;
  }
  return result;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
  if (ticks.size() < 2) return log_tick_labels(ticks);
  const int last = exponent(ticks[1] - ticks[0]);  // of the last digit that is needed
  std::vector<std::string> plain, powers;
  for (const double tick : ticks) {
    plain.push_back(fixed(tick, std::max(0, -last)));
    powers.push_back(tick == 0 ? "0" : scientific(tick, std::max(0, exponent(tick) - last)));
  }
  return longest(powers) < longest(plain) ? powers : plain;
}

std::vector<std::string> log_tick_labels(const std::vector<double>& ticks) {
  std::vector<std::string> names;
  for (const double tick : ticks) names.push_back(brief(tick));
  return names;
}

}  // namespace lockstep::report
