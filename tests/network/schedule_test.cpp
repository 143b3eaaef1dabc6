// Random schedules of faults: ranks are killed, stopped, paused and cut off at random moments, and
// the run is taken up again by another number of ranks. It ends in the undisturbed run's bytes;
// every attempt that does not get there ends by itself, with a documented code and a reason.
// RapidCheck draws the schedules from one seed and makes one that fails smaller; play_schedule.py
// plays it with the real program. RC_PARAMS="seed=… max_success=…": which ones, and how many.
//
// usage: network_schedule_test PYTHON PLAYER PROGRAM SOURCE [SCHEDULE]   that one, as it was
// printed
#include <rapidcheck.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kHosts = 4, kMostAttempts = 6;
constexpr const char* kFaults[] = {"pause",     "kill",    "terminate", "long-pause",
                                   "partition", "one-way", "rough"};

struct Attempt {
  int world = 1;    // ranks
  int fault = 0;    // of kFaults
  int step = 0;     // strikes when the ledger has so many
  int wait = 0;     // milliseconds later
  int victim = 0;   // the rank, modulo the world
  int cut = 0;      // which ranks are cut off: a number of a subset
  int sharded = 0;  // --shard optimizer
};

struct Schedule {
  std::vector<Attempt> attempts;
  int last = 1;  // ranks that end the run, undisturbed
};

// As play_schedule.py reads it.
std::ostream& operator<<(std::ostream& out, const Schedule& schedule) {
  for (const Attempt& a : schedule.attempts) {
    out << a.world << ":" << kFaults[a.fault] << ":" << a.step << ":" << a.wait << ":" << a.victim
        << ":" << a.cut << ":" << a.sharded << ",";
  }
  return out << schedule.last;
}

rc::Gen<Attempt> any_attempt() {
  using rc::gen::inRange;
  using rc::gen::set;
  return rc::gen::build<Attempt>(
      set(&Attempt::world, inRange(1, kHosts + 1)),
      set(&Attempt::fault, inRange(0, static_cast<int>(std::size(kFaults)))),
      set(&Attempt::step, inRange(0, 36)), set(&Attempt::wait, inRange(0, 50)),
      set(&Attempt::victim, inRange(0, kHosts)), set(&Attempt::cut, inRange(0, 1000)),
      set(&Attempt::sharded, inRange(0, 2)));
}

rc::Gen<Schedule> any_schedule() {
  using rc::gen::resize;  // the whole ranges from the first schedule on
  const auto attempt = resize(rc::kNominalSize, any_attempt());
  const auto attempts =
      resize(kMostAttempts, rc::gen::nonEmpty(rc::gen::container<std::vector<Attempt>>(attempt)));
  const auto last = resize(rc::kNominalSize, rc::gen::inRange(1, kHosts + 1));
  return rc::gen::build<Schedule>(rc::gen::set(&Schedule::attempts, attempts),
                                  rc::gen::set(&Schedule::last, last));
}

// True if it ended as it must.
bool play(std::vector<std::string> command, const std::string& schedule) {
  command.push_back(schedule);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::cout << "schedule " << schedule << std::endl;
  pid_t child = 0;
  int status = 0;
  return posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::cerr << "usage: network_schedule_test PYTHON PLAYER PROGRAM SOURCE [SCHEDULE]\n";
    return 2;
  }
  const std::vector<std::string> command(argv + 1, argv + 5);
  if (argc == 6) return play(command, argv[5]) ? 0 : 1;
  const bool held = rc::check("a run ends in its bytes, whatever happens on its way", [&] {
    const Schedule schedule = *any_schedule();
    std::ostringstream text;
    text << schedule;
    RC_ASSERT(play(command, text.str()));
  });
  return held ? 0 : 1;
}
