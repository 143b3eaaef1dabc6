#include <algorithm>
#include <set>

#include "lockstep/core/text.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/initial_state.h"
#include "report/sections.h"

namespace lockstep::report {
namespace {

Html networks(const recipe::Recipe& recipe) {
  std::string names;
  for (const recipe::NetworkOptions& one : recipe.networks)
    names += (names.empty() ? "" : ", ") + (recipe.networks.size() == 1 ? "" : one.role + " ") +
             one.model.kind.word() +
             (recipe::is_frozen(one) ? ", frozen" : " by " + one.optimizer.kind.word());
  return text(recipe.objective.kind.word() + ": " + names);
}

// Who compared step 0 with the run that it is from: this page's verify, or a replay.
std::string compared_with_parent(const Facts& facts) {
  const auto& notes = facts.verified.notes;
  if (const auto note = std::ranges::find_if(notes, train::is_compared_start); note != notes.end())
    return "lockstep verify: " + *note + ".";
  if (facts.parent_given) return "lockstep verify did: see its findings above.";
  for (auto replay = facts.replays.rbegin(); replay != facts.replays.rend(); ++replay)
    if (const Json* start = replay->find("start"); start && start->is_string())
      if (train::is_compared_start(start->get<std::string>()))
        return "A replay said: " + shortened(start->get<std::string>(), 200) + ".";
  return "Nobody compared it here; `lockstep report RUN --parent PARENT` does.";
}

// Which state the run started from.
void add_start(const Facts& facts, std::vector<std::pair<std::string, Html>>& pairs) {
  const auto& from = facts.ledger.header.from;
  if (!facts.ledger_begins || !from) return;
  Html parent = text("step " + std::to_string(from->step.value) + " of the run of recipe ") +
                code(from->recipe.hex());
  if (facts.recipe)
    parent += text(recipe::begins_anew(*facts.recipe)
                       ? "; optimisers and schedules begin anew"
                       : "; optimisers and schedules go on after " +
                             counted(facts.recipe->run.from.updates, "update"));
  pairs.emplace_back("Starts from", parent);
  pairs.emplace_back("State at step 0", code(from->state.hex()) + text(" (SHA-256 tree)"));
  pairs.emplace_back("Compared with it", text(compared_with_parent(facts)));
}

}  // namespace

std::string name_of(const Facts& facts) {
  return facts.recipe ? facts.recipe->run.name : "a run without a recipe that holds";
}

std::int64_t steps_of(const Facts& facts) {
  return facts.ledger.last().value;
}

double last_step(const Facts& facts) {
  std::int64_t last = std::max<std::int64_t>(steps_of(facts), 1);
  for (const auto& [number, attempt] : facts.attempts) last = std::max(last, attempt.last);
  return static_cast<double>(last);
}

Html section(const std::string& title, const Html& content) {
  return element("section", element("h2", text(title)) + "\n"_html + content) + "\n"_html;
}

Html paragraph(const std::string& sentence) {
  return element("p", text(sentence)) + "\n"_html;
}

Html summary(const Facts& facts) {
  std::vector<std::pair<std::string, Html>> pairs;
  const auto& recipe = facts.recipe;
  const auto& header = facts.ledger.header;
  std::string steps = std::to_string(steps_of(facts));
  if (recipe) steps += " of " + std::to_string(recipe->run.steps);
  if (facts.ledger_begins && !facts.ledger.entries.empty())
    steps += "; " + std::to_string(facts.ledger.entries.back().samples) + " samples drawn";
  pairs.emplace_back("Steps", text(steps));
  if (recipe) {
    pairs.emplace_back("Objective", networks(*recipe));
    pairs.emplace_back("Batch", text(std::to_string(recipe->batch.batch()) +
                                     " samples: " + counted(recipe->batch.lanes, "lane", "lanes") +
                                     " of " + std::to_string(recipe->batch.samples_per_lane) +
                                     "; seed " + std::to_string(recipe->run.seed)));
    pairs.emplace_back(
        "Arithmetic",
        text(recipe::is_native(*recipe)
                 ? "native: products by LibTorch's kernels in " + recipe->run.precision +
                       "; same bits on the same hardware and software only"
                 : "portable: same bits on every machine"));
    pairs.emplace_back("Recipe id", code(recipe::id(*recipe).hex()));
  } else if (facts.ledger_begins) {
    pairs.emplace_back("Recipe id", code(header.recipe.hex()) + text(" (as the ledger says)"));
  }
  add_start(facts, pairs);
  if (facts.ledger_begins) {
    pairs.emplace_back("Data hash", code(header.data.hex()));
    pairs.emplace_back("Ledger head", code(facts.ledger.chain().hex()) +
                                          text(" at step " + std::to_string(steps_of(facts))));
  }
  std::set<std::string> keys;
  for (const auto& [step, one] : facts.checkpoints)
    if (!one.key.empty()) keys.insert(one.key);
  for (const std::string& key : keys)
    pairs.emplace_back("Signed by", code(key) + text(facts.key == key ? " (the given key)" : ""));
  const Html list = report::facts(pairs);
  if (!facts.verified.chain.empty()) return list;
  return list + paragraph(
                    "Steps and head are those of the ledger up to the first line that does not "
                    "hold. Checkpoints were compared with themselves only. Pictures were not "
                    "checked.");
}

Html recipe(const Facts& facts) {
  if (facts.recipe_text.empty()) return paragraph("recipe.toml cannot be read.");
  Html problem;
  if (!facts.recipe) problem = paragraph("recipe.toml does not hold. It says:");
  return problem + element("pre", {{"tabindex", "0"}}, text(shortened(facts.recipe_text, 100000)));
}

std::string page(const Facts& facts) {
  const auto digest = [](std::string_view content) {
    return "'sha256-" + base64(hash::sha256(as_bytes(content)).view()) + "'";
  };
  // Whatever slipped through into the page: it may load nothing and run nothing else.
  const std::string policy = "default-src 'none'; img-src data:; style-src " + digest(kStyle) +
                             "; script-src " + digest(kScript) +
                             "; base-uri 'none'; form-action 'none'";
  Html head = empty_element("meta", {{"charset", "utf-8"}});
  head += empty_element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy}});
  head += empty_element("meta",
                        {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  head += empty_element("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  head += element("title", text(name_of(facts) + ": Lockstep run report")) + "\n"_html;
  head += element("style", Html{std::string(kStyle)}) + "\n"_html;

  const Html top =
      element("header", element("p", {{"class", "kicker"}}, text("Lockstep run report")) +
                            element("h1", text(name_of(facts))) + "\n"_html + verdict(facts) +
                            summary(facts));
  const Html parts = section("Curves", curves(facts)) + section("Samples", samples(facts)) +
                     section("Attempts", attempts(facts)) +
                     (facts.metrics.layers.empty() ? Html() : section("Layers", layers(facts))) +
                     (facts.metrics.ranks.empty() ? Html() : section("Ranks", ranks(facts))) +
                     section("Evidence", evidence(facts)) +
                     section("Environments", environments(facts)) +
                     section("Recipe", recipe(facts));
  const Html foot = element(
      "footer",
      paragraph("This page says what was found in the run's folder; it is no evidence itself. "
                "lockstep verify checks the folder against itself, lockstep replay computes its "
                "steps again. Lockstep's docs/glossary.md explains the words."));
  const Html body = element("main", top + "\n"_html + parts + foot) +
                    element("script", Html{std::string(kScript)});
  return "<!doctype html>\n" +
         element("html", {{"lang", "en"}},
                 element("head", head) + "\n"_html + element("body", body))
             .markup +
         "\n";
}

}  // namespace lockstep::report
