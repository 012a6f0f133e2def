// The optional progress thread (VICINAL_PROGRESS_THREAD). It progresses activities while the
// program computes, from the first graph to the end of MPI.
#pragma once

namespace vicinal {

/// Sets the process up before its first plan, and starts the thread if it is wanted. Throws if
/// VICINAL_DUMP_SIGNAL is not a signal that can be caught, or if MPI does not allow several
/// threads.
void prepare_process();

/// Returns whether the environment or the library itself wants the thread.
[[nodiscard]] bool has_progress_thread();
/// Sets whether the library itself wants the thread.
void need_progress_thread(bool is_needed);

}  // namespace vicinal
