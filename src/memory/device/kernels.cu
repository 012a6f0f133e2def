// Kernels for lists of copies or reductions. NVIDIA's and AMD's run-time compilers, and the host's
// compiler in tests, compile this one source. It includes nothing, since run-time compilers have no
// headers. It uses only __global__, __device__, threadIdx, blockIdx, blockDim, gridDim,
// __syncthreads, __threadfence_system and atomicAdd.
//
// Offsets are those of memory/kernels.hpp. No two threads write to the same place, which the makers
// of the lists ensure, so threads need not synchronize before the end.

#ifdef __CUDACC__
#define GRID_CONSTANT __grid_constant__  // read in place, not copied for each thread
#else
#define GRID_CONSTANT
#endif

// Defined if a system-wide fence in a kernel makes its writes visible to other devices, the host
// and MPI. Of AMD's devices only these write back their caches at a fence; others do so when the
// kernel ends.
#if !defined(__AMDGCN__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || \
    defined(__gfx942__) || defined(__gfx950__)
#define CAN_TELL
#endif

using Byte = unsigned char;
using Count = unsigned long long;

struct alignas(16) Word16 {
  Count low, high;
};

/// A range of bytes, with the layout of ByteRun.
struct Piece {
  long long source, target, bytes;
};

__device__ inline Count this_thread() {
  return static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline Count all_threads() { return static_cast<Count>(gridDim.x) * blockDim.x; }

/// Moves `count` words of 2^parts parts each. Each side has its words at the offsets of its list,
/// or contiguous if it has none. Everything is aligned for a part.
template <class Part, class Offset>
__device__ void copy_words(const Byte* from, Byte* to, const Offset* sources, const Offset* targets,
                           unsigned parts, Count count, Count thread, Count threads) {
  for (Count i = thread; i < count << parts; i += threads) {
    const Count word = i >> parts;
    const Count part = i - (word << parts);
    const Part* source = reinterpret_cast<const Part*>(
        sources != nullptr ? from + sources[word] : from + (word << parts) * sizeof(Part));
    Part* target = reinterpret_cast<Part*>(
        targets != nullptr ? to + targets[word] : to + (word << parts) * sizeof(Part));
    target[part] = source[part];
  }
}

/// Moves pieces of any length, each by a team of threads. Offsets and lengths are multiples of a
/// part.
template <class Part>
__device__ void copy_pieces(const Byte* from, Byte* to, const Piece* pieces, unsigned team,
                            Count count, Count thread, Count threads) {
  const Count member = thread % team;
  for (Count i = thread / team; i < count; i += threads / team) {
    const Piece piece = pieces[i];
    const Part* source = reinterpret_cast<const Part*>(from + piece.source);
    Part* target = reinterpret_cast<Part*>(to + piece.target);
    const Count parts = static_cast<Count>(piece.bytes) / sizeof(Part);
    for (Count k = member; k < parts; k += team) target[k] = source[k];
  }
}

/// Combines target[targets[i]] with source[sources[k]], for k from starts[i] to starts[i + 1] - 1
/// in that order. Each target occurs once.
template <class Value, class Op>
__device__ void reduce(const Byte* from, Byte* to, const unsigned* targets, const unsigned* starts,
                       const unsigned* sources, Count count) {
  const Value* source = reinterpret_cast<const Value*>(from);
  Value* target = reinterpret_cast<Value*>(to);
  for (Count i = this_thread(); i < count; i += all_threads()) {
    Value value = target[targets[i]];
    for (unsigned k = starts[i]; k < starts[i + 1]; ++k) value = Op::of(value, source[sources[k]]);
    target[targets[i]] = value;
  }
}

// Equal to the expressions in memory/kernels.cpp, so that host and device give equal results.
struct Sum {
  template <class Value>
  __device__ static Value of(Value a, Value b) {
    return static_cast<Value>(a + b);
  }
};
struct Min {
  template <class Value>
  __device__ static Value of(Value a, Value b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class Value>
  __device__ static Value of(Value a, Value b) {
    return a < b ? b : a;
  }
};

/// A copy in a batch, with the layout of kernels.hpp.
struct Move {
  const Byte* from;
  Byte* to;
  const Byte* sources;
  const Byte* targets;
  Count count;
  unsigned parts;
  unsigned first_block;
  unsigned char width;
  unsigned char form;
};
template <unsigned most>
struct Moves {
  unsigned count;
  Move all[most];
};

/// Completion signal to the host, with the layout of batch.hpp.
struct End {
  Count* word;       ///< completion flag in pinned memory; null if an event signals
  unsigned* blocks;  ///< number of finished blocks, in device memory; 0 between kernels
  Count number;      ///< value of the flag on completion
};

/// Executes one move by the threads of its blocks.
template <class Part>
__device__ void copy_one(const Move& move, Count thread, Count threads) {
  const Byte* from = move.from;
  Byte* to = move.to;
  const Byte* sources = move.sources;
  const Byte* targets = move.targets;
  const Count count = move.count;
  const unsigned parts = move.parts;
  switch (move.form) {
    case 0:
      return copy_words<Part>(from, to, reinterpret_cast<const int*>(sources),
                              reinterpret_cast<const int*>(targets), parts, count, thread, threads);
    case 1:
      return copy_words<Part>(from, to, reinterpret_cast<const long long*>(sources),
                              reinterpret_cast<const long long*>(targets), parts, count, thread,
                              threads);
    default:
      return copy_pieces<Part>(from, to, reinterpret_cast<const Piece*>(sources), 32, count, thread,
                               threads);
  }
}

/// Executes each move by the blocks from its first one to the next move's.
template <unsigned most>
__device__ void copy_all(const Moves<most>& moves) {
  unsigned i = 0;
  while (i + 1 < moves.count && moves.all[i + 1].first_block <= blockIdx.x) ++i;
  const unsigned first = moves.all[i].first_block;
  const unsigned end = i + 1 < moves.count ? moves.all[i + 1].first_block : gridDim.x;
  const Count thread = static_cast<Count>(blockIdx.x - first) * blockDim.x + threadIdx.x;
  const Count threads = static_cast<Count>(end - first) * blockDim.x;
  switch (moves.all[i].width) {
    case 1: return copy_one<unsigned char>(moves.all[i], thread, threads);
    case 2: return copy_one<unsigned short>(moves.all[i], thread, threads);
    case 4: return copy_one<unsigned>(moves.all[i], thread, threads);
    case 8: return copy_one<Count>(moves.all[i], thread, threads);
    default: return copy_one<Word16>(moves.all[i], thread, threads);
  }
}

/// Writes the completion flag when all threads of all blocks have arrived. A host that sees it may
/// let others read the copied data: kernels of other processes, copies, MPI. So each thread fences
/// its writes system-wide before it waits for its block. Thread 0 fences again before it counts its
/// block, and the last one before it writes the flag, so that all writes precede the flag.
__device__ inline void tell(const End& end) {
#ifdef CAN_TELL
  if (end.word == nullptr) return;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (gridDim.x > 1) {
    if (atomicAdd(end.blocks, 1U) + 1 < gridDim.x) return;
    // For the next kernel, which is launched only after the host has seen the flag.
    *end.blocks = 0;
    __threadfence_system();
  }
  *const_cast<volatile Count*>(end.word) = end.number;
#endif
}

// Kernels are found by name, and template instances have none.
#define COPY_WORDS(name, Part, Offset)                                                      \
  extern "C" __global__ void name(const Byte* from, Byte* to, const Offset* sources,        \
                                  const Offset* targets, unsigned parts, Count count) {     \
    copy_words<Part>(from, to, sources, targets, parts, count, this_thread(),               \
                     all_threads());                                                        \
  }
#define COPY(bytes, Part)                                                                   \
  COPY_WORDS(copy_words_##bytes##_32, Part, int)                                            \
  COPY_WORDS(copy_words_##bytes##_64, Part, long long)                                      \
  extern "C" __global__ void copy_pieces_##bytes(const Byte* from, Byte* to,                \
                                                 const Piece* pieces, unsigned team,        \
                                                 Count count) {                             \
    copy_pieces<Part>(from, to, pieces, team, count, this_thread(), all_threads());         \
  }
COPY(1, unsigned char)
COPY(2, unsigned short)
COPY(4, unsigned)
COPY(8, Count)
COPY(16, Word16)

/// Executes copies that begin together.
#define COPY_BATCH(name, most)                                                              \
  extern "C" __global__ void name(const GRID_CONSTANT Moves<most> moves, const End end) {   \
    copy_all(moves);                                                                        \
    tell(end);                                                                              \
  }
COPY_BATCH(copy_batch, 64)
// Arguments take time to arrive: 3.6 KB take 1 us longer than those of a few copies (H100).
#ifdef CAN_TELL
COPY_BATCH(copy_batch_few, 4)
#endif

#define REDUCE(name, Value, Op)                                                             \
  extern "C" __global__ void name(const Byte* from, Byte* to, const unsigned* targets,      \
                                  const unsigned* starts, const unsigned* sources,          \
                                  Count count) {                                            \
    reduce<Value, Op>(from, to, targets, starts, sources, count);                           \
  }
#define ORDER(type, Value)              \
  REDUCE(reduce_min_##type, Value, Min) \
  REDUCE(reduce_max_##type, Value, Max)
// Signed integers wrap around, since they are added as unsigned ones.
REDUCE(reduce_sum_uint8, unsigned char, Sum)
REDUCE(reduce_sum_uint16, unsigned short, Sum)
REDUCE(reduce_sum_uint32, unsigned, Sum)
REDUCE(reduce_sum_uint64, Count, Sum)
REDUCE(reduce_sum_float32, float, Sum)
REDUCE(reduce_sum_float64, double, Sum)
ORDER(int8, signed char)
ORDER(int16, short)
ORDER(int32, int)
ORDER(int64, long long)
ORDER(uint8, unsigned char)
ORDER(uint16, unsigned short)
ORDER(uint32, unsigned)
ORDER(uint64, Count)
ORDER(float32, float)
ORDER(float64, double)
