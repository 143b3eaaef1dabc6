#include "report/replays.h"

#include <algorithm>

#include "report/sections.h"

namespace lockstep::report {
namespace {

constexpr std::size_t kMostWindows = 6;  // in a sentence

std::string word(const Json& object, const char* name) {
  const Json* found = object.find(name);
  if (!found) return {};
  if (found->is_array() || found->is_object()) return "…";
  return shortened(found->is_string() ? found->get<std::string>() : json_text(*found), 200);
}

std::optional<std::int64_t> step_in(const Facts& facts, const Json& object, const char* name) {
  const Json* found = object.find(name);
  if (!found || !found->is_integer()) return std::nullopt;
  return std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, steps_of(facts));
}

std::vector<Window> merged(std::vector<Window> windows) {
  std::ranges::sort(windows, {}, &Window::from);
  std::vector<Window> result;
  for (const Window& window : windows) {
    if (!result.empty() && window.from <= result.back().to + 1)
      result.back().to = std::max(result.back().to, window.to);
    else
      result.push_back(window);
  }
  return result;
}

// Steps 1 to `last` without those of `windows`, which are merged.
std::vector<Window> others(const std::vector<Window>& windows, std::int64_t last) {
  std::vector<Window> result;
  std::int64_t next = 1;
  for (const Window& window : windows) {
    if (next < window.from) result.push_back({next, window.from - 1});
    next = window.to + 1;
  }
  if (next <= last) result.push_back({next, last});
  return result;
}

std::string result_of(const Json& replay) {
  if (agrees(replay)) return "agrees";
  std::string sentence =
      "differs at step " + word(replay, "first_difference") + ": " + word(replay, "what");
  if (const Json* place = replay.find("place"); place && place->is_object())
    sentence += "; first tensor " + word(*place, "tensor");
  return sentence;
}

}  // namespace

std::vector<Window> windows_of(const Facts& facts, const Json& replay) {
  std::vector<Window> windows;
  const Json* list = replay.find("windows");
  if (!list || !list->is_array()) return windows;
  for (const Json& one : list->elements()) {
    if (!one.is_object()) continue;
    const auto started = step_in(facts, one, "started"), to = step_in(facts, one, "to");
    if (started && to && *started < *to) windows.push_back({*started + 1, *to});
  }
  return windows;
}

bool agrees(const Json& replay) {
  const Json* agrees = replay.find("agrees");
  return agrees && *agrees == true;
}

std::vector<Window> replayed(const Facts& facts) {
  std::vector<Window> all;
  for (const Json& replay : facts.replays) {
    if (!agrees(replay)) continue;
    const auto windows = windows_of(facts, replay);
    all.insert(all.end(), windows.begin(), windows.end());
  }
  return merged(std::move(all));
}

std::string in_words(const std::vector<Window>& windows) {
  std::string words;
  const std::size_t shown = std::min(windows.size(), kMostWindows);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [from, to] = windows[i];
    words += (i == 0 ? "" : i + 1 == windows.size() ? " and " : ", ") + std::to_string(from);
    if (from < to) words += " to " + std::to_string(to);
  }
  if (shown < windows.size())
    words += " and " + counted(static_cast<std::int64_t>(windows.size() - shown), "more range",
                               "more ranges");
  return words;
}

std::string coverage(const Facts& facts) {
  const auto shown = replayed(facts);
  if (shown.empty()) return {};
  const auto missing = others(shown, steps_of(facts));
  const std::string steps = std::to_string(steps_of(facts));
  if (missing.empty()) return "All " + steps + " steps were computed again and agreed.";
  return "Steps " + in_words(shown) + " of " + steps + " were computed again and agreed; " +
         in_words(missing) + " were not.";
}

Html of_replays(const Facts& facts) {
  if (facts.replays.empty())
    return paragraph("Not replayed yet: nothing shows that the numbers are right.");
  std::vector<Row> rows;
  for (const Json& replay : facts.replays) {
    std::string machine;
    if (const Json* known = replay.find("machine"); known && known->is_object())
      for (const char* name : {"host", "device", "cpu", "isa", "system", "container"})
        // The device "cpu" is the CPU that is named behind it.
        if (const std::string value = word(*known, name);
            !value.empty() && !(std::string_view(name) == "device" && value == "cpu"))
          machine += (machine.empty() ? "" : ", ") + value;
    rows.push_back({{text(word(replay, "time")), text(result_of(replay)),
                     text(in_words(windows_of(facts, replay))), text(machine)},
                    !agrees(replay)});
  }
  const std::string steps = coverage(facts);
  return paragraph((steps.empty() ? "No replay agreed." : steps) +
                   " replays.jsonl says so; it is no evidence itself.") +
         table({"Time", "Result", "Steps compared", "Machine"}, rows);
}

}  // namespace lockstep::report
