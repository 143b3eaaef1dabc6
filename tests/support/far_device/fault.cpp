#include "support/far_device/fault.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/ops/where.h"
#include "support/far_device/memory.h"
#include "support/far_device/symbols.h"

namespace lockstep::testing::far {
namespace {

struct sigaction before;

void say(const std::string& text) {
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

// The fault is a load or store in code of ours, not one inside malloc: strings are safe here. A far
// address leaves the stack in order: the handler needs none of its own, which each thread would
// have to set.
void on_fault(int, siginfo_t* info, void*) {
  if (!is_far(info->si_addr)) {
    sigaction(SIGSEGV, &before, nullptr);  // and the instruction runs again
    return;
  }
  const Place place = place_of(info->si_addr);
  std::ostringstream line;
  line << "the host touched device memory: ";
  if (place.allocation) {
    line << "byte " << place.allocation->byte << " of an allocation of " << place.allocation->bytes
         << " ";
  }
  line << "(far byte 0x" << std::hex << place.byte << "), in " << ops::to_text(ops::where())
       << "; called from:\n";
  say(line.str());
  std::array<void*, 64> frames;
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 2; i < depth; ++i) {  // not this handler, nor what called it
    void* const frame = frames[static_cast<std::size_t>(i)];
    const std::string name = function_at(reinterpret_cast<std::uintptr_t>(frame));
    say("  ");
    if (name.empty()) {
      backtrace_symbols_fd(&frame, 1, STDERR_FILENO);
    } else {
      say(name + "\n");
    }
  }
  _exit(static_cast<int>(Code::kBug));
}

}  // namespace

void name_faults() {
  static const bool done = [] {
    is_far(nullptr);  // maps the memory
    read_symbols();
    void* frame = nullptr;
    backtrace(&frame, 1);  // loads the library that walks stacks
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace lockstep::testing::far
