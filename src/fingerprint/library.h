// A shared library that is there on some machines: its functions of C, found by name.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace lockstep::fingerprint {

class Library {
 public:
  // The first of these names that is there. mode: RTLD_NOLOAD for one that this process must have
  // loaded already, or 0.
  Library(std::initializer_list<const char*> names, int mode) {
    for (const char* name : names)
      if (handle_ == nullptr) handle_ = dlopen(name, RTLD_LAZY | RTLD_LOCAL | mode);
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }
  // Calls a function if the library has it; -1 if not.
  template <class... Arguments>
  int call(const char* function, Arguments... arguments) const {
    const auto address = dlsym(handle_, function);
    return address == nullptr ? -1 : reinterpret_cast<int (*)(Arguments...)>(address)(arguments...);
  }
  template <class Result>
  Result ask(const char* function) const {
    const auto address = dlsym(handle_, function);
    return address == nullptr ? Result{} : reinterpret_cast<Result (*)()>(address)();
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace lockstep::fingerprint
