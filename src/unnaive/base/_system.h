// Functions of native modules that depend on the operating system: opening files, allocating large blocks, features of
// the processor. The Python counterpart is base/system.py.
#pragma once
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#if defined(_WIN32)
#include <fcntl.h>
#include <intrin.h>
#include <io.h>
#else
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#endif

namespace unnaive {

#if defined(_WIN32)
// Convert UTF-8, the encoding of os.fsencode on Windows, to the wide string of the system calls; lone surrogates are
// kept.
inline std::wstring wide_path(const std::string& path) {
  std::wstring wide;
  for (size_t i = 0; i < path.size();) {
    const auto first = static_cast<uint8_t>(path[i++]);
    const int more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    uint32_t code = more ? first & (0x3Fu >> more) : first;
    for (int k = 0; k < more && i < path.size(); ++k) code = code << 6 | (static_cast<uint8_t>(path[i++]) & 0x3F);
    if (code < 0x10000) {
      wide.push_back(static_cast<wchar_t>(code));
    } else {
      wide.push_back(static_cast<wchar_t>(0xD7C0 + (code >> 10)));
      wide.push_back(static_cast<wchar_t>(0xDC00 + (code & 0x3FF)));
    }
  }
  return wide;
}

inline int open_to_read(const std::string& path) {
  return _wopen(wide_path(path).c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT | _O_SEQUENTIAL);
}

inline ptrdiff_t read_some(int file, void* to, size_t most) {
  return _read(file, to, static_cast<unsigned>(most < (size_t{1} << 30) ? most : size_t{1} << 30));
}

inline void close_file(int file) { _close(file); }
#else
inline int open_to_read(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }
inline ptrdiff_t read_some(int file, void* to, size_t most) { return read(file, to, most); }
inline void close_file(int file) { close(file); }
#endif

// Allocate memory that std::free releases, on huge pages if the system has them: getting a small page takes longer than
// filling it.
inline void* allocate_large(size_t bytes) {
#if defined(__linux__)
  constexpr size_t huge_page = size_t{2} << 20;
  void* data = std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page);
  if (data) madvise(data, bytes / huge_page * huge_page, MADV_HUGEPAGE);
  return data;
#else
  return std::malloc(bytes);
#endif
}

// Whether the processor has the popcnt instruction; true if the compiler was not told to use it.
inline bool counts_bits() {
#if defined(__x86_64__) && defined(__POPCNT__)
  // __builtin_cpu_supports needs a library that is not linked on Windows, nor by ziglang for musl
#if defined(_WIN32)
  int found[4];
  __cpuid(found, 1);
  return found[2] >> 23 & 1;
#else
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c >> 23 & 1);
#endif
#else
  return true;
#endif
}

}  // namespace unnaive
