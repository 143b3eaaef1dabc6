// Programs whose GPU is interpreted or emulated compute the self-test for seconds, with one result,
// in hundreds of starts of one run of the tests. With KERNELS_ARE_KNOWN in the environment they are
// told it. Linked with --wrap: the program is as it is.
#include <cstdlib>
#include <string_view>

#include "lockstep/fingerprint/kernels.h"

namespace lockstep::fingerprint {

KernelHashes computed() asm("__real__ZN8lockstep11fingerprint16portable_kernelsB5cxx11Ev");
KernelHashes told() asm("__wrap__ZN8lockstep11fingerprint16portable_kernelsB5cxx11Ev");

KernelHashes told() {
  const char* const known = std::getenv("KERNELS_ARE_KNOWN");
  if (known == nullptr || std::string_view(known).empty()) return computed();
  KernelHashes hashes;
  for (const GoldenKernel& kernel : golden_kernels())
    hashes.emplace_back(kernel.name, hash::Digest::parse(kernel.hash).value());
  return hashes;
}

}  // namespace lockstep::fingerprint
