#include "lockstep/core/plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

std::filesystem::path find_plugin(const std::string& name, const std::string& what,
                                  const std::string& instead) {
  const std::string file = "liblockstep_" + name + ".so";
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& path : {folder / file, folder.parent_path() / "lib" / file})
    if (std::filesystem::exists(path, ignored)) return path;
  throw Error(Code::kEnvironment,
              what + " needs " + file + ", which is neither in " + folder.string() + " nor in " +
                  (folder.parent_path() / "lib").string(),
              instead);
}

}  // namespace

Plugin::Plugin(const std::string& name, const std::string& what, const std::string& instead,
               const std::string& interface, [[maybe_unused]] Symbols symbols) {
  const std::filesystem::path path = find_plugin(name, what, instead);
  int mode = RTLD_NOW | RTLD_LOCAL;
  // The sanitizers' runtime refuses it.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (symbols == Symbols::kOwn) mode |= RTLD_DEEPBIND;
#endif
  handle_ = dlopen(path.c_str(), mode);  // never closed: its threads may still end
  if (handle_ == nullptr)
    throw Error(Code::kEnvironment, "cannot load what " + what + " needs: " + dlerror(), instead);
  const auto of_library = function<const char* (*)()>(("lockstep_" + name + "_interface").c_str());
  if (of_library == nullptr || of_library() != interface)
    throw Error(Code::kEnvironment,
                what + " needs " + path.filename().string() +
                    " of this build of lockstep, and that in " + path.parent_path().string() +
                    " is of another",
                "install the program and its plug-ins together");
}

void* Plugin::symbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace lockstep
