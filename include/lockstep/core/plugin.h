// Shared libraries of ours that are loaded when they are needed.
#pragma once

#include <string>

namespace lockstep {

// liblockstep_<name>.so, in the program's folder or in ../lib of it, loaded once and never closed.
class Plugin {
 public:
  // Error(kEnvironment) if it is not there or cannot be loaded. what: "the transport 'gloo'";
  // instead: what else to do, "choose another transport".
  // Its symbols are the program's first, operator new among them, or else its own first.
  enum class Symbols { kPrograms, kOwn };
  Plugin(const std::string& name, const std::string& what, const std::string& instead,
         Symbols symbols);

  // A function that the library exports; null if it does not.
  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_;
};

}  // namespace lockstep
