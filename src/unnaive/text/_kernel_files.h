// Read many small files into one buffer with several threads, and check that they are UTF-8.
#pragma once
#include <algorithm>
#include <cerrno>
#include <string>

#include "../base/_system.h"
#include "_kernel_memory.h"
#include "_kernel_threads.h"

namespace unnaive {

struct FileTexts {
  Array<uint8_t> blob;  // may be longer than the texts
  Array<int64_t> ends;
  std::vector<uint8_t> odd;  // 1 for files that are not UTF-8; the blob has their bytes unchanged
  size_t failed = 0;         // index of the file that could not be read; `error` is its errno
  int error = 0;

  size_t bytes() const { return ends.size() ? static_cast<size_t>(ends[ends.size() - 1]) : 0; }
};

// Concatenated files in a growing buffer.
struct FileBytes {
  Array<uint8_t> bytes;
  size_t used = 0;

  void make_room(size_t more) {
    if (bytes.size() - used < more) bytes.resize(std::max(2 * bytes.size(), used + more));
  }
};

// Append a file to `out`; return errno, or 0.
inline int append_file(const std::string& path, FileBytes& out) {
  const int file = open_to_read(path);
  if (file < 0) return errno;
  int error = 0;
  while (true) {
    out.make_room(size_t{1} << 16);
    const ptrdiff_t got = read_some(file, out.bytes.data() + out.used, out.bytes.size() - out.used);
    if (got > 0) out.used += static_cast<size_t>(got);
    if (got < 0 && errno != EINTR) error = errno;
    if (got == 0 || error) break;
  }
  close_file(file);
  return error;
}

// Read the files from `from` to `to` on one thread.
inline void read_shard(const std::string* paths, size_t from, size_t to, FileTexts& texts, FileBytes& out,
                       std::atomic<int>& error) {
  // most of the buffer stays untouched; a huge page would be zeroed completely
  out.bytes = Array<uint8_t>::unset(std::min((to - from) << 16, kHugePage - 1));
  for (size_t i = from; i < to && !error.load(std::memory_order_relaxed); ++i) {
    const size_t start = out.used;
    const int failure = append_file(paths[i], out);
    if (failure) {
      int none = 0;
      if (error.compare_exchange_strong(none, failure)) texts.failed = i;
      return;
    }
    uint8_t* text = out.bytes.data() + start;
    if (out.used - start >= 3 && std::memcmp(text, "\xEF\xBB\xBF", 3) == 0) {  // a byte order mark
      std::memmove(text, text + 3, out.used - start - 3);
      out.used -= 3;
    }
    texts.ends[i + 1] = static_cast<int64_t>(out.used - start);
    texts.odd[i] = !is_utf8(text, out.used - start);
  }
}

// Read files with several threads; with one thread, its buffer is returned without a copy.
inline FileTexts read_files(const std::string* paths, size_t count, unsigned threads) {
  FileTexts texts;
  texts.ends = Array<int64_t>(count + 1);
  texts.odd.resize(count);
  const auto n = static_cast<unsigned>(std::max<size_t>(1, std::min<size_t>({threads, count / 64, 64})));
  std::vector<FileBytes> parts(n);
  std::atomic<int> error{0};
  Stop stop;
  run_sharded(n, stop,
              [&](unsigned s) { read_shard(paths, count * s / n, count * (s + 1) / n, texts, parts[s], error); });
  texts.error = error;
  if (texts.error) return texts;
  for (size_t i = 0; i < count; ++i) texts.ends[i + 1] += texts.ends[i];
  if (n == 1) {
    texts.blob = std::move(parts[0].bytes);
    return texts;
  }
  texts.blob = Array<uint8_t>::unset(texts.bytes());
  run_sharded(n, stop, [&](unsigned s) {
    uint8_t* to = texts.blob.data() + texts.ends[count * s / n];
    if (parts[s].used) std::memcpy(to, parts[s].bytes.data(), parts[s].used);
  });
  return texts;
}

}  // namespace unnaive
