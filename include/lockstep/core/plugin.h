// Shared libraries of ours that are loaded when they are needed.
#pragma once

#include <string>

namespace lockstep {

// Who loads a plug-in and the plug-in agree on the headers that say what crosses their border. The
// build sets the hash of these for both: lockstep_plugin_interface() (tools/cmake/module.cmake).
#define LOCKSTEP_TEXT_OF(word) #word
#define LOCKSTEP_TEXT(word) LOCKSTEP_TEXT_OF(word)
#define LOCKSTEP_THIS_INTERFACE LOCKSTEP_TEXT(LOCKSTEP_PLUGIN_INTERFACE)

// A function that a plug-in exports.
#define LOCKSTEP_EXPORTED extern "C" __attribute__((visibility("default")))
// Once in each plug-in: tells its interface.
#define LOCKSTEP_PLUGIN(name)                                   \
  static_assert(sizeof LOCKSTEP_THIS_INTERFACE == 64 + 1);      \
  LOCKSTEP_EXPORTED const char* lockstep_##name##_interface() { \
    return LOCKSTEP_THIS_INTERFACE;                             \
  }

// liblockstep_<name>.so, in the program's folder or in ../lib of it, loaded once and never closed.
class Plugin {
 public:
  // Error(kEnvironment) if it is not there, cannot be loaded, or has another interface.
  // what: "the transport 'gloo'"; instead: what else to do, "choose another transport";
  // interface: LOCKSTEP_THIS_INTERFACE.
  // Its symbols are the program's first, operator new among them, or else its own first.
  enum class Symbols { kPrograms, kOwn };
  Plugin(const std::string& name, const std::string& what, const std::string& instead,
         const std::string& interface, Symbols symbols);

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
