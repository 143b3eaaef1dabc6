// What a process needs before it does anything: first in main, in ranks and children too.
#pragma once

namespace lockstep::cli {

// Opens on /dev/null those of descriptors 0, 1 and 2 that are closed: otherwise messages would go
// into the next file that is opened, perhaps the ledger. Ignores SIGXFSZ, so that a limit on file
// sizes makes a write fail, and SIGPIPE: who reads the progress may go, and training goes on. The
// process is called lockstep.
// Throws Error(kEnvironment).
void start_up();

// Throws Error(kEnvironment) unless this process may open as many more files as one of `world`
// ranks can need. Asked first: libraries that cannot open one say so late, vaguely or never.
void require_open_files(int world);

}  // namespace lockstep::cli
