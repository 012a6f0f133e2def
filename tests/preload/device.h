/* Arrays in a GPU's memory, by the double of NVIDIA's driver if VICINAL_DEVICE_DRIVER names it;
 * else in host memory. */
#ifndef VICINAL_PRELOAD_DEVICE_H
#define VICINAL_PRELOAD_DEVICE_H

#include <dlfcn.h>

#include "programs.h"

static void* driver;
static void* stream;

typedef void (*Function)(void); /* of any type */

static inline Function entry(const char* name) {
  Function found;
  void* const symbol = dlsym(driver, name);
  memcpy(&found, &symbol, sizeof found);
  return found;
}

static inline void begin_device(void) {
  void* context = NULL;
  const char* const path = getenv("VICINAL_DEVICE_DRIVER");
  if (path == NULL) return;
  driver = dlopen(path, RTLD_NOW);
  CHECK(driver != NULL);
  CHECK(((int (*)(unsigned))entry("cuInit"))(0) == 0);
  CHECK(((int (*)(void**, int))entry("cuDevicePrimaryCtxRetain"))(&context, 0) == 0);
  CHECK(((int (*)(void*))entry("cuCtxPushCurrent_v2"))(context) == 0);
  CHECK(((int (*)(void**, unsigned))entry("cuStreamCreate"))(&stream, 0) == 0);
}

static inline int* device_array(int count) {
  void* memory = NULL;
  const size_t bytes = sizeof(int) * (size_t)(count > 0 ? count : 1);
  if (driver == NULL) return (int*)calloc(bytes, 1);
  CHECK(((int (*)(void**, size_t))entry("cuMemAlloc_v2"))(&memory, bytes) == 0);
  return (int*)memory;
}

static inline void copy(void* to, const void* from, int count) {
  const size_t bytes = sizeof(int) * (size_t)count;
  if (driver == NULL) {
    memcpy(to, from, bytes);
    return;
  }
  CHECK(((int (*)(void*, const void*, size_t, void*))entry("cuMemcpyAsync"))(to, from, bytes,
                                                                             stream) == 0);
  CHECK(((int (*)(void*))entry("cuStreamSynchronize"))(stream) == 0);
}

#endif
