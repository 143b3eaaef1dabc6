// What `doctor` looked at: each check by name, with what it found.
#pragma once

#include <new>
#include <string>
#include <vector>

#include "device.h"
#include "lockstep/core/error.h"

namespace lockstep::cli {

struct Check {
  std::string name, detail;
  Code code = Code::kOk;
  bool warning = false;  // nothing that ends a job
};

class Checks {
 public:
  // What the check returns, or the error that it throws.
  template <class Body>
  void add(const std::string& name, Body&& body) {
    try {
      list.push_back({name, body()});
    } catch (const Error& error) {
      fail(name, error);
    } catch (const std::bad_alloc&) {
      fail(name, lacks_memory());
    }
  }
  std::vector<Check> list;

 private:
  void fail(const std::string& name, const Error& error) {
    list.push_back({name, error.what(), error.code()});
  }
};

// On standard output, a line each.
void print(const Checks& checks, bool json);

// For rank 0: what these checks found that deserves a look, as long as a message may be.
std::string told(const Checks& checks);
// The same of another rank, added to rank 0's.
void add_told(const std::string& rank, const std::string& host, const std::string& text,
              Checks& checks);

}  // namespace lockstep::cli
