#include <string>

#include "conformance/document.h"
#include "lockstep/objective/sampler_steps.h"
#include "lockstep/objective/variance_preserving.h"
#include "lockstep/optim/cosine.h"
#include "lockstep/optim/exponential.h"
#include "lockstep/optim/learning_rate.h"
#include "lockstep/optim/linear.h"
#include "lockstep/optim/step.h"

namespace lockstep::conformance {
namespace {

void set(Case& c, optim::IntervalOptions& o) {
  o.interval = c.parameter("interval", std::int64_t{13});
  o.factor = c.parameter("factor", 0.3);
}

// Of updates 1, 2, …
void add_learning_rates(Json& cases, const std::string& schedule, std::int64_t warmup) {
  Case c(cases, "learning_rate", schedule + ", warm-up " + std::to_string(warmup));
  optim::LearningRate o;
  o.schedule = c.parameter("schedule", schedule);
  o.lr = c.parameter("lr", 3e-4);
  o.warmup = c.parameter("warmup", warmup);
  if (schedule == "cosine")
    o.schedule.as<optim::CosineOptions>().horizon = c.parameter("horizon", std::int64_t{61});
  if (schedule == "linear")
    o.schedule.as<optim::LinearOptions>().horizon = c.parameter("horizon", std::int64_t{61});
  if (schedule == "step") set(c, o.schedule.as<optim::StepOptions>());
  if (schedule == "exponential") set(c, o.schedule.as<optim::ExponentialOptions>());
  const auto updates = c.parameter("updates", std::int64_t{70});
  Doubles rates;
  for (std::int64_t t = 1; t <= updates; ++t) rates.push_back(optim::learning_rate(o, t));
  c.output("rate", rates);
}

objective::NoiseSchedule schedule_of(Case& c, const std::string& name, std::int64_t timesteps) {
  c.parameter("schedule", name);
  c.parameter("timesteps", timesteps);
  Kind<objective::NoiseScheduleKind> kind(objective::noise_schedules());
  kind = name;
  return objective::make_noise_schedule(kind, timesteps);
}

void add_noise_schedule(Json& cases, const std::string& name, std::int64_t timesteps) {
  Case c(cases, "noise_schedule", name + ", " + std::to_string(timesteps));
  const objective::NoiseSchedule schedule = schedule_of(c, name, timesteps);
  c.output("beta", schedule.beta);
  c.output("product", schedule.alpha_bar);
}

struct Sampling {
  const char *sampler, *prediction, *schedule;
  std::int64_t timesteps, visited;
};

void add_sampler(Json& cases, const Sampling& s) {
  Case c(cases, "sampler",
         std::string(s.sampler) + ", " + s.prediction + ", " + s.schedule + ", " +
             std::to_string(s.visited) + " of " + std::to_string(s.timesteps));
  const objective::NoiseSchedule schedule = schedule_of(c, s.schedule, s.timesteps);
  c.parameter("sampler", s.sampler);
  c.parameter("prediction", s.prediction);
  c.parameter("visits", s.visited);
  std::vector<std::int64_t> t;
  Floats p, q, g, h, n;
  const auto process = objective::make_variance_preserving(schedule, s.prediction);
  const auto steps = std::string(s.sampler) == "ddim" ? objective::ddim_steps(*process, s.visited)
                                                      : objective::ancestral_steps(*process);
  for (const objective::SamplerStep& step : steps) {
    t.push_back(step.t);
    p.push_back(step.x0.of_first);
    q.push_back(step.x0.of_second);
    g.push_back(step.next.of_first);
    h.push_back(step.next.of_second);
    n.push_back(step.noise);
  }
  c.output("t", t);
  c.output("p", p);
  c.output("q", q);
  c.output("g", g);
  c.output("h", h);
  c.output("n", n);
}

}  // namespace

void add_schedule_cases(Json& cases) {
  for (const char* const schedule : {"constant", "cosine", "linear", "step", "exponential"}) {
    for (const std::int64_t warmup : {0, 1, 7}) add_learning_rates(cases, schedule, warmup);
  }
  for (const char* const schedule : {"linear", "cosine"}) {
    for (const std::int64_t timesteps : {1, 2, 10, 1000}) {
      add_noise_schedule(cases, schedule, timesteps);
    }
  }
  for (const char* const prediction : {"epsilon", "v"}) {
    add_sampler(cases, {"ancestral", prediction, "linear", 1000, 1000});
    add_sampler(cases, {"ancestral", prediction, "cosine", 50, 50});
    add_sampler(cases, {"ddim", prediction, "linear", 1000, 37});
    add_sampler(cases, {"ddim", prediction, "cosine", 100, 100});
    add_sampler(cases, {"ddim", prediction, "cosine", 1000, 1});
  }
}

}  // namespace lockstep::conformance
