#include "plugin.h"

#include "lockstep/comm/libraries.h"
#include "lockstep/core/error.h"
#include "lockstep/core/plugin.h"

namespace lockstep::comm {
namespace {

// Own symbols: its own Gloo, and not the one that LibTorch has put in the global scope.
Plugin load(const std::string& name, const std::string& what) {
  return {name, what, "install it there, or choose another transport", LOCKSTEP_THIS_INTERFACE,
          Plugin::Symbols::kOwn};
}

}  // namespace

std::string library_of(const std::string& transport) try {
  const Plugin library = load(transport, transport);
  std::string text;
  if (const auto tell = library.function<TransportLibrary>(kTransportLibrary)) tell(text);
  return text;
} catch (const Error&) {  // not there
  return "";
}

std::unique_ptr<Transport> open_transport(const std::string& name,
                                          const TransportOptions& options) {
  const std::string what = "the transport '" + name + "'";
  const Plugin library = load(name, what);
  const auto open = library.function<OpenTransport>(kOpenTransport);
  LOCKSTEP_ASSERT(open != nullptr, name);
  std::string problem;
  if (const auto needs = library.function<TransportNeeds>(kTransportNeeds)) needs(problem);
  if (!problem.empty())
    throw Error(Code::kEnvironment, what + " cannot run here: " + problem,
                "every rank needs it; or use LOCKSTEP_TRANSPORT=gloo");
  std::unique_ptr<Transport> transport(open(options, problem));
  if (!transport)
    throw Error(Code::kEnvironment, what + " cannot start here: " + problem,
                "see the limits on processes and open files (ulimit -u and -n)");
  return transport;
}

}  // namespace lockstep::comm
