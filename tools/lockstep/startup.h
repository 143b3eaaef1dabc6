// What a process needs before it does anything: first in main, in ranks and children too.
#pragma once

namespace lockstep::cli {

// Opens those of descriptors 0, 1 and 2 that are closed, on /dev/null: else the next file that is
// opened, the ledger perhaps, is where messages go. Ignores SIGXFSZ: a limit on the size of files
// is then a write that fails. SIGPIPE keeps its default: `lockstep diff A B | head` ends quietly.
// Throws Error(kEnvironment).
void start_up();

// Error(kEnvironment) unless this process may open as many more files as it can need as one of
// `world` ranks. Asked first: libraries that cannot open one say so late, vaguely or never.
void require_open_files(int world);

}  // namespace lockstep::cli
