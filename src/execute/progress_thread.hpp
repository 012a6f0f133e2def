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
/// Has the thread see to what goes on beside the program, and to what is owed (activity.hpp), on this rank, whatever others do: plans
/// are made as before, and all else goes on as without it. False where MPI does not allow several threads, or the environment says that there is to be none.
bool run_progress_thread();
/// Something has begun to go on beside the program.
void wake_progress_thread();

}  // namespace vicinal
