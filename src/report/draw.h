// Pictures in a page, as inline SVG: curves and what happened along the steps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lockstep/data/png.h"
#include "report/curve.h"
#include "report/html.h"

namespace lockstep::report {

struct Chart {
  std::string title;  // "discriminator loss"
  std::string unit;   // of y; "" for none
  std::vector<Point> points;
  std::string x_name;               // "step"
  double x_first = 0, x_last = 0;   // what the axis spans
  std::vector<double> marks;        // x where an attempt begins
  bool may_be_logarithmic = false;  // where all values are positive and span a factor of 100
  Gaps gaps = Gaps::kByDistance;
};

// A figure: curve, axes, and the last, lowest and highest value in words.
Html draw(const Chart& chart);

// A scatter's points (train/picture.h) with axes, large enough for people to see.
Html draw_points(const data::Picture& scatter, const std::string& caption);

// One row of a timeline.
struct Track {
  std::string name;
  std::vector<std::pair<double, double>> bars;  // from, to
  std::vector<double> ticks;
  bool wrong = false;
  std::string words;  // the same in words, for readers who cannot see it
};

// Rows over a common axis of steps 0 to `last`.
Html draw(const std::vector<Track>& tracks, double last);

}  // namespace lockstep::report
