// What native modules ask of the operating system where systems differ: files by their path, large blocks of memory,
// what the processor can do. Python's part of the same question is base/system.py.
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
// UTF-8, as os.fsencode gives it there, to what the system calls take; lone surrogates stay what they are.
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

// Memory for std::free, on huge pages where there are any: a page takes longer to get than to fill.
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

// Whether the processor has the instruction that counts bits; asked where the compiler was told to use it.
inline bool counts_bits() {
#if defined(__x86_64__) && defined(__POPCNT__)
  // not __builtin_cpu_supports: what it reads is in a library that is not linked on Windows, nor by ziglang for musl
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
