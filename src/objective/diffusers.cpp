#include "lockstep/objective/diffusers.h"

#include "lockstep/objective/ddpm.h"
#include "lockstep/objective/edm.h"
#include "objective/kinds.h"

namespace lockstep::objective {

namespace {

std::string prediction_there(const std::string& ours) {
  if (ours == "v") return "v_prediction";
  if (ours == "x0") return "sample";
  return ours;
}

}  // namespace

// The predicted data are clipped as ours; steps are asked for with use_clipped_model_output.
Json scheduler_of_ddpm(const Options& options) {
  const auto& o = options.kind.as<DdpmOptions>();
  return {{"_class_name", "DDIMScheduler"},
          {"num_train_timesteps", o.timesteps},
          {"trained_betas", make_noise_schedule(o.schedule, o.timesteps).beta},
          {"prediction_type", prediction_there(o.prediction)},
          {"clip_sample", true},
          {"clip_sample_range", 1.0},
          {"set_alpha_to_one", true},
          {"timestep_spacing", "trailing"}};
}

// Times are told to the network 1000-fold (rectified_flow.cpp), as diffusers does.
Json scheduler_of_flow(const Options&) {
  return {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
          {"num_train_timesteps", 1000},
          {"shift", 1.0}};
}

Json scheduler_of_edm(const Options& options) {
  const auto& o = options.kind.as<EdmOptions>();
  return {{"_class_name", "EDMEulerScheduler"},
          {"sigma_min", o.sigma_min},
          {"sigma_max", o.sigma_max},
          {"sigma_data", o.sigma_data},
          {"rho", o.rho},
          {"sigma_schedule", "karras"},
          {"prediction_type", "epsilon"},
          {"final_sigmas_type", "zero"}};
}

std::optional<Json> diffusers_scheduler(const Options& options) {
  const auto& row = options.kind.row("objective.kind");
  if (row.scheduler == nullptr) return std::nullopt;
  return row.scheduler(options);
}

}  // namespace lockstep::objective
