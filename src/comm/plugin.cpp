#include "plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "lockstep/comm/libraries.h"
#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {

std::filesystem::path find_plugin(const std::string& name) {
  const std::string file = "liblockstep_" + name + ".so";
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& path : {folder / file, folder.parent_path() / "lib" / file})
    if (std::filesystem::exists(path, ignored)) return path;
  throw Error(Code::kEnvironment,
              "the transport '" + name + "' needs " + file + ", which is neither in " +
                  folder.string() + " nor in " + (folder.parent_path() / "lib").string(),
              "install it there, or choose another transport");
}

// Never closed: its threads may still end.
void* load(const std::filesystem::path& path) {
  int mode = RTLD_NOW | RTLD_LOCAL;
  // Deep: the plug-in's own Gloo, and not the one that LibTorch has put in the global scope. The
  // sanitizers' runtime refuses it.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  mode |= RTLD_DEEPBIND;
#endif
  return dlopen(path.c_str(), mode);
}

}  // namespace

std::vector<std::string> libraries() {
  std::vector<std::string> all;
  for (const char* name : {"gloo", "nccl"}) {
    try {
      void* const library = load(find_plugin(name));
      if (library == nullptr) continue;
      std::string text;
      if (const auto tell = reinterpret_cast<TransportLibrary>(dlsym(library, kTransportLibrary)))
        tell(text);
      if (!text.empty()) all.push_back(text);
    } catch (const Error&) {  // not there
    }
  }
  return all;
}

std::unique_ptr<Transport> open_transport(const std::string& name,
                                          const TransportOptions& options) {
  const std::filesystem::path path = find_plugin(name);
  void* library = load(path);
  if (!library)
    throw Error(Code::kEnvironment, "cannot load the transport '" + name + "': " + dlerror());
  const auto open = reinterpret_cast<OpenTransport>(dlsym(library, kOpenTransport));
  if (!open) throw Error(Code::kEnvironment, path.string() + " is not a transport of lockstep");
  std::string problem;
  if (const auto needs = reinterpret_cast<TransportNeeds>(dlsym(library, kTransportNeeds)))
    needs(problem);
  if (!problem.empty())
    throw Error(Code::kEnvironment, "the transport '" + name + "' cannot run here: " + problem,
                "every rank needs it; or use LOCKSTEP_TRANSPORT=gloo");
  std::unique_ptr<Transport> transport(open(options, problem));
  if (!transport)
    throw Error(Code::kEnvironment, "the transport '" + name + "' cannot start here: " + problem,
                "see the limits on processes and open files (ulimit -u and -n)");
  return transport;
}

}  // namespace lockstep::comm
