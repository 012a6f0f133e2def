// The library's kernels compiled for the host, and the driver's way to call them: by a name and
// pointers to arguments.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "base/scramble.hpp"
#include "simulated.hpp"

namespace {
struct ThreeNumbers {
  unsigned x = 0, y = 0, z = 0;
};
thread_local ThreeNumbers threadIdx, blockIdx, blockDim, gridDim;

/// True if a thread of the running block has reached the barrier.
thread_local bool block_waits;
// After the barrier only thread 0 of a block has work, so it runs last and need not wait.
void __syncthreads() { block_waits = true; }
void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
unsigned atomicAdd(unsigned* where, unsigned what) { return std::exchange(*where, *where + what); }
}  // namespace

#define __global__ __attribute__((visibility("default")))
#define __device__
#include "memory/device/kernels.cu"

namespace simulated {

namespace {

template <class Argument>
Argument read(void* argument) {
  Argument value;
  std::memcpy(&value, argument, sizeof value);
  return value;
}

/// The memory that a kernel's pointers refer to.
struct Reach {
  bool fits = true;  ///< contains no invalid pointer
  bool device = false, host = false;
};

/// Returns the pointer as a kernel may access it.
template <class Argument>
Argument followed(Argument value, Reach& reach) {
  if constexpr (std::is_pointer_v<Argument>) {
    auto* const found = static_cast<Argument>(touched_by_kernel(value));
    reach.fits = reach.fits && (found != nullptr) == (value != nullptr);
    if (value != nullptr) {
      (locate(value).kind == Kind::device ? reach.device : reach.host) = true;
    }
    return found;
  } else {
    return value;
  }
}

template <class Threads>
void run_threads(unsigned blocks, unsigned threads, Threads one) {
  gridDim.x = blocks;
  blockDim.x = threads;
  const auto run = [&](unsigned thread) {
    threadIdx.x = thread;
    one();
  };
  // An odd number is coprime to a power of two, so each thread runs once.
  for (unsigned block = blocks; block-- > 0;) {
    blockIdx.x = block;
    block_waits = false;
    bool first_waits = false;
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned thread = (i * 91 + threads / 2) % threads;
      if (thread == 0 && block_waits) {
        first_waits = true;
      } else {
        run(thread);
      }
    }
    if (first_waits) run(0);
  }
}

template <class... Arguments, std::size_t... places>
Status run(void (*kernel)(Arguments...), unsigned blocks, unsigned threads,
           const std::tuple<Arguments...>& given, std::index_sequence<places...>) {
  Reach reach;
  const std::tuple<Arguments...> arguments{followed(std::get<places>(given), reach)...};
  if (!reach.fits) return illegal_address;
  if (reach.device && reach.host) count("crossings");
  run_threads(blocks, threads, [&] { kernel(std::get<places>(arguments)...); });
  return success;
}

/// Runs copies whose pointers are in the argument.
template <unsigned most>
Status run_batch(void (*kernel)(Moves<most>, End), unsigned blocks, unsigned threads,
                 Moves<most> moves, End end) {
  for (unsigned i = 0; i < moves.count; ++i) {
    Move& move = moves.all[i];
    if (move.count == 0) continue;  // removed from the batch
    const auto ends =
        reinterpret_cast<std::uintptr_t>(move.from) | reinterpret_cast<std::uintptr_t>(move.to);
    if (ends % move.width != 0) return misaligned_address;
    Reach reach;
    move.from = followed(move.from, reach);
    move.to = followed(move.to, reach);
    move.sources = followed(move.sources, reach);
    move.targets = followed(move.targets, reach);
    if (!reach.fits) return illegal_address;
    if (reach.device && reach.host) count("crossings");
  }
  Reach reach;
  end.word = followed(end.word, reach);
  end.blocks = followed(end.blocks, reach);
  if (!reach.fits) return illegal_address;
  const auto is_told = [&] { return end.word != nullptr && *end.word == end.number; };
  unsigned left = blocks * threads;
  bool is_early = false;
  run_threads(blocks, threads, [&] {
    kernel(moves, end);
    --left;
    is_early = is_early || (left > 0 && is_told());
  });
  if (is_early || is_told() != (end.word != nullptr)) count("misuses");
  if (end.word != nullptr) count("words");
  return success;
}

template <unsigned most>
Status put_batch(void (*kernel)(Moves<most>, End), unsigned blocks, unsigned threads, void* stream,
                 void** arguments) {
  const bool fails = number("launches") == number("fail_kernel");
  put(stream, [=, moves = read<Moves<most>>(arguments[0]), end = read<End>(arguments[1])] {
    return fails ? launch_failed : run_batch(kernel, blocks, threads, moves, end);
  });
  return success;
}

template <class... Arguments>
Status put_kernel(void (*)(Arguments...), void* kernel, unsigned blocks, unsigned threads,
                  void* stream, void** arguments) {
  using All = std::index_sequence_for<Arguments...>;
  const auto given = [&]<std::size_t... places>(std::index_sequence<places...>) {
    return std::tuple<Arguments...>{read<Arguments>(arguments[places])...};
  }(All{});
  auto* const function = reinterpret_cast<void (*)(Arguments...)>(kernel);
  put(stream, [=] { return run(function, blocks, threads, given, All{}); });
  return success;
}

/// Returns the alignment that devices require for the kernel of this name.
std::size_t alignment_of(const std::string& name) {
  const std::size_t digit = name.find_first_of("0123456789");
  const std::size_t number = std::stoul(name.substr(digit));
  return name.starts_with("copy_") ? number : number / 8;
}

void* find_here(const char* name) {
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&find_kernel), &here) == 0) return nullptr;
  void* const library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = dlsym(library, name);
  dlclose(library);
  return found;
}

}  // namespace

void* find_kernel(const char* name) {
  const std::string text(name);
  const bool ours = text.starts_with("copy_") || text.starts_with("reduce_");
  if (text == "copy_batch_few" && number("no_words") != 0) return nullptr;
  return ours ? find_here(name) : nullptr;
}

Status launch(void* kernel, unsigned blocks, unsigned threads, void* stream, void** arguments) {
  Dl_info info;
  if (dladdr(kernel, &info) == 0 || info.dli_sname == nullptr) return invalid_value;
  const std::string name(info.dli_sname);
  count("launches");
  if (name == "copy_batch") return put_batch(copy_batch, blocks, threads, stream, arguments);
  if (name == "copy_batch_few") {
    return put_batch(copy_batch_few, blocks, threads, stream, arguments);
  }
  // The start of the source and of the target.
  for (const int side : {0, 1}) {
    if (read<std::uintptr_t>(arguments[side]) % alignment_of(name) != 0) return misaligned_address;
  }
  if (name.starts_with("copy_pieces")) {
    return put_kernel(copy_pieces_1, kernel, blocks, threads, stream, arguments);
  }
  if (name.starts_with("reduce")) {
    return put_kernel(reduce_sum_uint8, kernel, blocks, threads, stream, arguments);
  }
  return put_kernel(copy_words_1_32, kernel, blocks, threads, stream, arguments);
}

}  // namespace simulated
