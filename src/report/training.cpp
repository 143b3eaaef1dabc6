// How training went: curves, samples, attempts.
#include <algorithm>

#include "lockstep/core/clock.h"
#include "lockstep/core/text.h"
#include "lockstep/train/picture.h"
#include "report/draw.h"
#include "report/sections.h"

namespace lockstep::report {
namespace {

constexpr std::size_t kMostMarks = 40;  // more attempts are not marked in curves
constexpr std::size_t kMostPictures = 6;
constexpr std::size_t kPictureBytes = 4 << 20;  // of all shown pictures, as files
constexpr std::int64_t kWidestPicture = 4096;   // pixels

Chart by_step(const Facts& facts, const std::string& title, const std::string& unit) {
  Chart chart;
  chart.title = title;
  chart.unit = unit;
  chart.x_name = "step";
  chart.x_first = 1;
  chart.x_last = last_step(facts);
  if (facts.attempts.size() <= kMostMarks)
    for (const auto& [number, attempt] : facts.attempts)
      if (attempt.steps > 0 && attempt.first > 1)
        chart.marks.push_back(static_cast<double>(attempt.first));
  return chart;
}

// Precision, recall, density and coverage lie between 0 and about 1; distances may span more.
std::vector<Chart> evaluations(const Facts& facts) {
  std::vector<Chart> charts;
  for (const ledger::Entry& entry : facts.ledger.entries) {
    for (std::size_t i = 0; i < entry.evaluation.size(); ++i) {
      if (charts.size() == i) {
        std::string title = entry.evaluation[i].first + " of samples";
        std::ranges::replace(title, '_', ' ');
        charts.push_back(by_step(facts, title, ""));
        charts.back().may_be_logarithmic = title.find("distance") != std::string::npos;
      }
      charts[i].points.push_back(
          {static_cast<double>(entry.step.value), entry.evaluation[i].second});
    }
  }
  return charts;
}

Html losses(const Facts& facts) {
  std::vector<Chart> charts;
  for (const ledger::Entry& entry : facts.ledger.entries) {
    for (std::size_t i = 0; i < entry.losses.size(); ++i) {
      if (charts.size() == i) {
        charts.push_back(by_step(facts, entry.losses[i].first + " loss", ""));
        charts.back().may_be_logarithmic = true;
      }
      charts[i].points.push_back({static_cast<double>(entry.step.value), entry.losses[i].second});
    }
  }
  Chart validation = by_step(facts, "loss on held-out samples", "");
  validation.may_be_logarithmic = true;
  for (const ledger::Entry& entry : facts.ledger.entries)
    if (entry.validation)
      validation.points.push_back({static_cast<double>(entry.step.value), *entry.validation});
  if (!validation.points.empty()) charts.push_back(std::move(validation));
  for (Chart& chart : evaluations(facts)) charts.push_back(std::move(chart));
  Html out;
  for (const Chart& chart : charts) out += draw(chart);
  return out;
}

Chart chart_of(const Facts& facts, const Series& series) {
  const std::string name = shortened(series.name, 60);
  if (series.kind == "monitor") return by_step(facts, name, "monitor");
  if (series.kind == "learning_rate") return by_step(facts, name + " learning rate", "");
  Chart chart = by_step(facts, name + " gradient norm", "");
  chart.may_be_logarithmic = true;
  return chart;
}

Html speed(const Facts& facts) {
  if (facts.metrics.speed.empty()) return {};
  const double total = facts.metrics.speed.back().x;
  const auto [unit, name] = total < 300     ? std::pair(1.0, "s of training")
                            : total < 18000 ? std::pair(60.0, "min of training")
                                            : std::pair(3600.0, "h of training");
  Chart chart;
  chart.title = "speed";
  chart.unit = "steps/s";
  chart.x_name = name;
  for (const Point& step : facts.metrics.speed)  // flat from its beginning to its end
    for (const double x : {step.x - step.weight, step.x})
      chart.points.push_back({x / unit, step.y, step.weight});
  chart.x_last = total / unit;
  chart.gaps = Gaps::kNone;
  if (facts.attempts.size() <= kMostMarks)
    for (const auto& [number, attempt] : facts.attempts)
      if (attempt.offset > 0) chart.marks.push_back(attempt.offset / unit);
  return draw(chart);
}

// First and last, and as many between them as there is room for, evenly spaced.
std::vector<std::size_t> chosen(const std::vector<const Picture*>& pictures) {
  for (std::size_t count = std::min(pictures.size(), kMostPictures); count > 0; --count) {
    std::vector<std::size_t> picks;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      picks.push_back(count == 1 ? pictures.size() - 1 : i * (pictures.size() - 1) / (count - 1));
      bytes += pictures[picks.back()]->png.size();
    }
    if (bytes <= kPictureBytes) return picks;
  }
  return {};
}

bool is_scatter(const Picture& picture) {
  return picture.width == train::kScatterSide && picture.height == train::kScatterSide &&
         picture.channels == 1;
}

// points: of a plane.
Html figure_of(Step step, const Picture& picture, bool points) {
  const std::string caption = "step " + std::to_string(step.value);
  const std::string words = "samples after " + caption;
  Html image;
  if (points)
    image = draw_points(data::read_png(picture.png, caption), words);
  else
    image = empty_element("img", {{"src", "data:image/png;base64," + base64(picture.png)},
                                  {"width", std::to_string(picture.width)},
                                  {"height", std::to_string(picture.height)},
                                  {"alt", words}});
  return element("figure", image + element("figcaption", text(caption))) + "\n"_html;
}

std::string of_steps(const Attempt& attempt) {
  if (attempt.steps == 0) return "none";
  return std::to_string(attempt.first) + " to " + std::to_string(attempt.last);
}

Row row_of(std::int64_t number, const Attempt& attempt) {
  const std::string began = utc_text(attempt.began);
  const bool timed = attempt.seconds > 0;
  const auto maybe = [](bool is, const std::string& value) { return text(is ? value : "–"); };
  return {{text(std::to_string(number)), maybe(attempt.ranks > 0, std::to_string(attempt.ranks)),
           maybe(!began.empty(), began), text(of_steps(attempt)),
           text(std::to_string(attempt.again)), maybe(timed, human_seconds(attempt.seconds)),
           maybe(timed, fixed(static_cast<double>(attempt.steps) / attempt.seconds, 2))}};
}

}  // namespace

Html curves(const Facts& facts) {
  Html charts = losses(facts);
  for (const Series& series : facts.metrics.series) {
    Chart chart = chart_of(facts, series);
    chart.points = series.points;
    charts += draw(chart);
  }
  charts += speed(facts);
  std::string sentence =
      "Losses and distances of samples come from the ledger. All other curves come from "
      "metrics.jsonl, which is no "
      "evidence; of a step that was done twice, the last time counts. Gradient norms are L2, "
      "before clipping. The speed includes pictures and saving.";
  if (facts.attempts.size() > 1) sentence += " A dashed line marks where another attempt begins.";
  if (last_step(facts) > 360)
    sentence +=
        " Where several steps share a place, the line is their mean, and the shade spans their "
        "lowest and highest value.";
  if (charts.markup.empty()) return paragraph("There is nothing to draw.");
  return paragraph(sentence) + element("div", {{"class", "charts"}}, charts);
}

Html samples(const Facts& facts) {
  std::vector<const Picture*> pictures;
  std::vector<Step> steps;
  std::string damaged;
  std::int64_t large = 0;
  for (const auto& [step, picture] : facts.pictures) {
    if (!picture) {
      damaged += (damaged.empty() ? "" : ", ") + std::to_string(step.value);
    } else if (picture->width > kWidestPicture || picture->height > kWidestPicture ||
               picture->png.size() > kPictureBytes) {
      ++large;
    } else {
      pictures.push_back(&*picture);
      steps.push_back(step);
    }
  }
  Html figures;
  const auto picks = chosen(pictures);
  const bool points = facts.recipe && data::points(facts.recipe->data);
  for (const std::size_t i : picks)
    figures += figure_of(steps[i], *pictures[i], points && is_scatter(*pictures[i]));
  std::string sentence =
      "Each picture begins with the same random numbers, so their samples can be compared. ";
  if (facts.pictures.empty()) sentence = "The folder has no pictures. ";
  if (facts.recipe && data::arrays(facts.recipe->data))
    sentence +=
        "Of fields of 1 or 3 channels, black is -3 and white 3. The values of all samples "
        "are in samples/*.npz. ";
  if (const std::size_t rest = pictures.size() - picks.size(); rest > 0)
    sentence += counted(static_cast<std::int64_t>(rest), "other picture", "other pictures") +
                " in samples/ not shown. ";
  if (large > 0) sentence += counted(large, "picture", "pictures") + " too large to be shown. ";
  if (!damaged.empty())
    sentence += "Damaged pictures are not shown: step " + shortened(damaged, 200) + ".";
  return paragraph(sentence) + element("div", {{"class", "pictures"}}, figures);
}

Html attempts(const Facts& facts) {
  std::vector<Row> rows;
  for (const auto& [number, attempt] : facts.attempts) rows.push_back(row_of(number, attempt));
  Html out = rows.empty() ? paragraph("There is no attempt in metrics.jsonl and environment/.")
                          : table({"Attempt", "Ranks", "First step began", "Steps",
                                   "Computed again", "Time in steps", "Steps/s"},
                                  rows);
  if (facts.warnings.empty() && facts.metrics.stops.empty())
    return out + paragraph("Nothing stopped it, and log.txt has no warnings.");
  std::vector<Row> lines;
  for (const train::Stop& stop : facts.metrics.stops)
    lines.push_back({{text(shortened(stop.by, 40)),
                      text(stop.by == "signal" ? "all was saved" : shortened(stop.reason, 400))},
                     true});
  for (const std::string& line : facts.warnings)
    lines.push_back({{text("log.txt"), text(shortened(line, 400))}});
  return out + element("h3", text("Stops and warnings")) + table({"From", "Line"}, lines);
}

}  // namespace lockstep::report
