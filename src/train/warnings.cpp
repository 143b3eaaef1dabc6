#include "lockstep/train/warnings.h"

#include "lockstep/core/counted.h"
#include "lockstep/data/labels.h"
#include "lockstep/monitor/monitor.h"

namespace lockstep::train {
namespace {

bool keeps_fewer_last(const recipe::Checkpoint& before, const recipe::Checkpoint& now) {
  return now.keep_last > 0 && (before.keep_last == 0 || now.keep_last < before.keep_last);
}

// Those at multiples of keep_every, which matter only beside a keep_last.
bool keeps_fewer_marks(const recipe::Checkpoint& before, const recipe::Checkpoint& now) {
  return before.keep_last > 0 && now.keep_last > 0 && before.keep_every > 0 &&
         (now.keep_every == 0 || before.keep_every % now.keep_every != 0);
}

}  // namespace

std::vector<std::string> warnings(const recipe::Recipe& recipe, const data::Dataset& dataset) {
  std::vector<std::string> lines;
  if (recipe.data.classes > 0 && !data::files(recipe.data).empty())  // somebody gave the labels
    lines = monitor::imbalance(recipe.monitor, dataset.class_counts());
  const std::int64_t drawn = dataset.size() - recipe.data.holdout;
  const std::int64_t batch = recipe.batch.batch();
  if (drawn < batch)
    lines.push_back("[data]: " +
                    (recipe.data.holdout > 0
                         ? "holdout keeps " + std::to_string(recipe.data.holdout) + " of " +
                               counted(dataset.size(), "sample") + ": "
                         : std::string()) +
                    "training draws from " + std::to_string(drawn) + ", less than a batch of " +
                    std::to_string(batch));
  return lines;
}

bool keeps_fewer(const recipe::Checkpoint& before, const recipe::Checkpoint& now) {
  return keeps_fewer_last(before, now) || keeps_fewer_marks(before, now);
}

std::vector<std::string> withdrawn(const recipe::Recipe& before, Step done,
                                   const recipe::Recipe& now) {
  std::vector<std::string> lines;
  const auto say = [&](const std::string& key, std::int64_t was, std::int64_t is,
                       const std::string& what) {
    lines.push_back(key + " was " + std::to_string(was) + " in this run, and is " +
                    std::to_string(is) + ": " + what + " (--set " + key + "=" +
                    std::to_string(was) + " goes on as before)");
  };
  if (now.run.steps < before.run.steps && done.value < before.run.steps)
    say("run.steps", before.run.steps, now.run.steps, "it ends earlier");
  const std::string go = "checkpoints that it was to keep go when the next one is due";
  if (keeps_fewer_last(before.checkpoint, now.checkpoint))
    say("checkpoint.keep_last", before.checkpoint.keep_last, now.checkpoint.keep_last, go);
  if (keeps_fewer_marks(before.checkpoint, now.checkpoint))
    say("checkpoint.keep_every", before.checkpoint.keep_every, now.checkpoint.keep_every, go);
  return lines;
}

}  // namespace lockstep::train
