#include <string>

#include "conformance/document.h"
#include "lockstep/core/text.h"
#include "lockstep/numerics/stream.h"
#include "lockstep/objective/sampler_steps.h"
#include "lockstep/objective/variance_exploding.h"
#include "lockstep/objective/variance_preserving.h"
#include "lockstep/optim/schedules.h"

namespace lockstep::conformance {
namespace {

// Of updates 1, 2, …
void add_learning_rates(Json& cases, const std::string& schedule, std::int64_t warmup) {
  Case c(cases, "learning_rate", schedule + ", warm-up " + std::to_string(warmup));
  optim::LearningRate o;
  o.schedule = c.parameter("schedule", schedule);
  o.lr = c.parameter("lr", 3e-4);
  o.warmup = c.parameter("warmup", warmup);
  if (o.schedule.row("schedule").end != nullptr) {
    o.schedule.as<optim::HorizonOptions>().horizon = c.parameter("horizon", std::int64_t{61});
  } else if (schedule != "constant") {
    auto& own = o.schedule.as<optim::IntervalOptions>();
    own.interval = c.parameter("interval", std::int64_t{13});
    own.factor = c.parameter("factor", 0.3);
  }
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
    p.push_back(step.x0.a);
    q.push_back(step.x0.b);
    g.push_back(step.next.a);
    h.push_back(step.next.b);
    n.push_back(step.noise);
  }
  c.output("t", t);
  c.output("p", p);
  c.output("q", q);
  c.output("g", g);
  c.output("h", h);
  c.output("n", n);
}

// Of every timestep.
void add_min_snr(Json& cases, const std::string& schedule, const std::string& prediction,
                 std::int64_t timesteps, double gamma) {
  Case c(cases, "min_snr",
         prediction + ", " + schedule + ", " + std::to_string(timesteps) + ", " + to_text(gamma));
  const objective::NoiseSchedule noise = schedule_of(c, schedule, timesteps);
  c.parameter("prediction", prediction);
  c.parameter("min_snr_gamma", gamma);
  const auto process = objective::make_variance_preserving(noise, prediction, gamma);
  Floats weights;
  for (std::int64_t t = 0; t < timesteps; ++t)
    weights.push_back(process->weight(static_cast<objective::Time>(t)).value());
  c.output("weight", weights);
}

// What training computes of the draws 0, 1, …
void add_edm_levels(Json& cases, const std::string& what, std::int64_t seed,
                    const objective::NoiseLevels& o) {
  Case c(cases, "edm_levels", what);
  c.parameter("seed", seed);
  c.parameter("p_mean", o.p_mean);
  c.parameter("p_std", o.p_std);
  c.parameter("sigma_data", o.sigma_data);
  const auto draws = c.parameter("draws", std::int64_t{300});
  const auto process = objective::make_variance_exploding(o);
  const numerics::Stream stream =
      numerics::stream(static_cast<std::uint64_t>(seed), "edm/timestep");
  Floats s, told, a, b, of_noise, of_sample;
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    s.push_back(process->sample_time(stream, static_cast<std::uint64_t>(draw)));
    told.push_back(process->time_input(s.back()));
    const objective::LinearCombination input = process->noising(s.back());
    a.push_back(input.a);
    b.push_back(input.b);
    const objective::LinearCombination target = process->target(s.back()).value();
    of_noise.push_back(target.a);
    of_sample.push_back(target.b);
  }
  c.output("s", s);
  c.output("told", told);
  c.output("a", a);
  c.output("b", b);
  c.output("target_a", of_noise);
  c.output("target_b", of_sample);
}

void add_edm_steps(Json& cases, const std::string& what, std::int64_t steps,
                   const objective::NoiseLevels& o) {
  Case c(cases, "edm_steps", std::to_string(steps) + (steps == 1 ? " step, " : " steps, ") + what);
  c.parameter("steps", steps);
  c.parameter("sigma_min", o.sigma_min);
  c.parameter("sigma_max", o.sigma_max);
  c.parameter("rho", o.rho);
  c.parameter("sigma_data", o.sigma_data);
  const auto process = objective::make_variance_exploding(o);
  const Doubles times = process->times(steps);
  Floats h, told, scale, p, q;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const auto t = static_cast<objective::Time>(times[i]);
    h.push_back(static_cast<float>(times[i + 1] - times[i]));
    told.push_back(process->time_input(t));
    scale.push_back(process->input_scale(t));
    const objective::LinearCombination slope = process->velocity(t);
    p.push_back(slope.a);
    q.push_back(slope.b);
  }
  c.output("s", times);
  c.output("h", h);
  c.output("told", told);
  c.output("scale", scale);
  c.output("p", p);
  c.output("q", q);
}

void add_edm_cases(Json& cases) {
  objective::NoiseLevels other;
  other.p_mean = 0.3;
  other.p_std = 2.1;
  other.sigma_data = 1.7;
  other.sigma_min = 0.01;
  other.sigma_max = 33.0;
  other.rho = 3.0;
  add_edm_levels(cases, "the paper's", 7, {});
  add_edm_levels(cases, "other levels", 8, other);
  for (const std::int64_t steps : {1, 2, 18}) add_edm_steps(cases, "the paper's", steps, {});
  add_edm_steps(cases, "other levels", 1000, other);
  other.rho = 1.0;
  add_edm_steps(cases, "equally spaced", 50, other);
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
  for (const char* const prediction : {"epsilon", "v", "x0"}) {
    add_sampler(cases, {"ancestral", prediction, "linear", 1000, 1000});
    add_sampler(cases, {"ancestral", prediction, "cosine", 50, 50});
    add_sampler(cases, {"ddim", prediction, "linear", 1000, 37});
    add_sampler(cases, {"ddim", prediction, "cosine", 100, 100});
    add_sampler(cases, {"ddim", prediction, "cosine", 1000, 1});
  }
  for (const char* const prediction : {"epsilon", "v", "x0"}) {
    add_min_snr(cases, "linear", prediction, 1000, 5.0);
    add_min_snr(cases, "cosine", prediction, 100, 0.3);
  }
  add_edm_cases(cases);
}

}  // namespace lockstep::conformance
