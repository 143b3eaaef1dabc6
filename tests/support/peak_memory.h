// How much memory a call uses at its peak.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace lockstep::testing {

inline long memory_kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stol(line.substr(field.size() + 1));
  }
  ADD_FAILURE() << "/proc/self/status has no " << field;
  return 0;
}

// KiB of resident memory, above those held before, at the call's peak.
template <class Body>
long peak_kib(Body&& body) {
  std::ofstream("/proc/self/clear_refs") << 5;  // the kernel's peak starts anew
  const long before = memory_kib("VmRSS");
  body();
  return memory_kib("VmHWM") - before;
}

}  // namespace lockstep::testing
