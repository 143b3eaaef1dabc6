// Options that several commands have: what a command computes on, which never changes a portable
// bit, and how it reports.
#include "command.h"
#include "device.h"

namespace lockstep::cli {

void add_machine(Command& command, Machine& machine) {
  add_device(command, machine.device);
  add_threads(command, machine.threads);
}

void add_device(Command& command, std::string& device) {
  command
      .add_option(
          "--device", device,
          "cpu, cuda:N or cuda (this rank's GPU); with portable numerics never changes a bit")
      .value("DEVICE")
      .check([](const std::string& name) -> std::string {
        if (is_device(name)) return "";
        return "'" + name + "' is not a device: give cpu, cuda or cuda:N, N from 0 to 127";
      });
}

void add_threads(Command& command, int& threads) {
  command
      .add_option(
          "--threads", threads,
          "threads of this process, 0: its share of the CPUs that it may use; never changes a bit")
      .range(0, 4096);
}

void add_lanes_at_once(Command& command, std::int64_t& lanes) {
  command
      .add_option("--lanes-at-once", lanes,
                  "lanes of this process that are computed at once, 0: as many as fit and keep the "
                  "cores busy; fewer need less memory; never changes a bit")
      .range(std::int64_t{0}, std::int64_t{1} << 40);
}

void add_json(Command& command, bool& json) {
  command.add_flag("--json", json, "report as JSON");
}

void add_quiet(Command& command, bool& quiet) {
  command.add_flag("--quiet", quiet, "warnings and errors only");
}

}  // namespace lockstep::cli
