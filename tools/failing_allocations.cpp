// Preloaded into a process, lets the n-th allocation or thread of our native modules fail, to test what happens then.
//   c++ -O1 -shared -fPIC tools/failing_allocations.cpp -o failing.so -ldl; LD_PRELOAD=$PWD/failing.so python …
// ctypes.CDLL("failing.so").fail_from(n) lets the n-th next one fail, and all after it with fail_from(-n); 0 none.
// interrupt_reserving(n) lets the next n calls of posix_fallocate end as if a signal had interrupted them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>

namespace {

std::atomic<long> left{0};  // until the next failure; 0 for none
std::atomic<bool> once{true}, paused{false};
std::atomic<long> failures{0};
std::atomic<int> interruptions{0};  // of reserving room in a file

bool is_ours(const void* caller) {
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname) return false;
  const char* name = std::strrchr(info.dli_fname, '/');
  if (!name) return false;
  for (const char* ours : {"/_kernel.", "/_fasttext.", "/_dual.", "/_products.", "/_gram.", "/_rows."})
    if (!std::strncmp(name, ours, std::strlen(ours))) return true;
  return false;
}

bool fails(const void* caller) {
  if (!left.load(std::memory_order_relaxed) || paused || !is_ours(caller)) return false;
  const long before = left.load();
  if (before == 0) return false;
  if (before > 1) {
    left = before - 1;
    return false;
  }
  if (once) left = 0;
  ++failures;
  return true;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void fail_from(long n) {
  failures = 0;
  once = n > 0;
  left = n < 0 ? -n : n;
}
void pause_failing(bool pause) { paused = pause; }
long count_failures() { return failures; }
void interrupt_reserving(int times) { interruptions = times; }

void* malloc(size_t size) {
  static auto* real = next<void*(size_t)>("malloc");
  return fails(__builtin_return_address(0)) ? nullptr : real(size);
}
void* calloc(size_t count, size_t each) {
  static std::atomic<void* (*)(size_t, size_t)> real{nullptr};
  static thread_local bool looking = false;
  if (!real) {  // looking up the real one may allocate
    static char room[1 << 12];
    static size_t used = 0;
    if (looking) return room + (used += (count * each + 15) / 16 * 16) - (count * each + 15) / 16 * 16;
    looking = true;
    real = next<void*(size_t, size_t)>("calloc");
    looking = false;
  }
  return fails(__builtin_return_address(0)) ? nullptr : real.load()(count, each);
}
void* realloc(void* block, size_t size) {
  static auto* real = next<void*(void*, size_t)>("realloc");
  return fails(__builtin_return_address(0)) ? nullptr : real(block, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  static auto* real = next<int(void**, size_t, size_t)>("posix_memalign");
  return fails(__builtin_return_address(0)) ? ENOMEM : real(block, alignment, size);
}
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  static auto* real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (!fails(__builtin_return_address(0))) return real(at, size, protection, flags, file, offset);
  errno = ENOMEM;
  return reinterpret_cast<void*>(-1);
}
int posix_fallocate(int file, off_t from, off_t size) {
  static auto* real = next<int(int, off_t, off_t)>("posix_fallocate");
  return interruptions-- > 0 ? EINTR : real(file, from, size);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static auto* real = next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(__builtin_return_address(0)) ? EAGAIN : real(thread, attributes, run, argument);
}
}

void* operator new(size_t size) {
  static auto* real = next<void*(size_t)>("_Znwm");
  if (fails(__builtin_return_address(0))) throw std::bad_alloc();
  return real(size);
}
