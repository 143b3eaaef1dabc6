#include <algorithm>

#include "command.h"
#include "lockstep/audit/rounding.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string folder, data;
  std::int64_t step = 1;
  Machine machine;
  bool json = false, quiet = false;
};

std::string percent(double share) {
  return fixed(100 * share, 2) + " %";
}

std::string product_of(const audit::RoundedOperand& one) {
  return one.op + (one.backward ? ", backward" : "");
}

void print_table(const std::vector<audit::RoundedOperand>& operands) {
  std::size_t module = 6, product = 7;
  for (const audit::RoundedOperand& one : operands) {
    module = std::max(module, one.module.size());
    product = std::max(product, product_of(one).size());
  }
  const auto line = [&](const std::string& where, const std::string& what, const std::string& which,
                        const std::string& zeros, const std::string& error) {
    print_line(left(where, module + 2), left(what, product + 2), left(which, 8), right(zeros, 9),
               right(error, 10));
  };
  line("module", "product", "operand", "become 0", "error");
  for (const audit::RoundedOperand& one : operands)
    line(one.module, product_of(one), one.operand, percent(one.zeros), percent(one.error));
}

Json json_of(const audit::RoundedOperand& one) {
  return {{"module", one.module},   {"op", one.op},         {"backward", one.backward},
          {"operand", one.operand}, {"values", one.values}, {"zeros", one.zeros},
          {"error", one.error}};
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  require_no_other_than_run(options.folder);
  const auto computing = ComputingScope::of_task(options.machine);
  audit::RoundingOptions rounding{.folder = options.folder, .step = Step(options.step), .data = {}};
  if (!options.data.empty()) rounding.data = options.data;
  const auto operands = audit::rounding(rounding);
  if (options.json) {
    Json list = Json::array();
    for (const audit::RoundedOperand& one : operands) list.push_back(json_of(one));
    print_json({{"step", options.step}, {"operands", list}});
    return Code::kOk;
  }
  print_table(operands);
  print_line(options.folder, ": step ", options.step, ", ",
             counted(static_cast<std::int64_t>(operands.size()), "operand"),
             " of layers that are wide enough");
  return Code::kOk;
}

}  // namespace

Run add_rounding(Command& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("run", options->folder, "run folder; nothing is written to it").required();
  command.add_option("--step", options->step, "step to look at").value("STEP");
  add_data(command, options->data);
  add_machine(command, options->machine);
  add_json(command, options->json);
  add_quiet(command, options->quiet);
  command.footer(
      "Example: lockstep rounding runs/fashion-mnist-ddpm --step 500\n"
      "For each operand of products = \"integer\": the share of its values that become 0, and the "
      "error relative to their root mean square. Runs with float products can be looked at, too.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
