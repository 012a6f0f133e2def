// The optional progress thread (VICINAL_PROGRESS_THREAD), which progresses what is active while the program
// computes. It runs from the first graph to the end of MPI.
#pragma once

namespace vicinal {

/// Set-up of the process, before its first plan: the thread, where the environment wants one. Throws where
/// a setting of the process cannot be served: VICINAL_DUMP_SIGNAL is no signal that can be caught, or
/// MPI does not allow several threads.
void prepare_process();

/// Whether the environment, or the library itself, wants the thread.
[[nodiscard]] bool has_progress_thread();
/// From now on the library does, or does not any more.
void need_progress_thread(bool is_needed);

}  // namespace vicinal
