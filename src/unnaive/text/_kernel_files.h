// Many small files → one buffer: read by threads, checked to be UTF-8.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "_kernel_memory.h"
#include "_kernel_threads.h"

namespace unnaive {

struct FileTexts {
  Array<uint8_t> blob;
  Array<int64_t> ends;
  std::vector<uint8_t> odd;  // 1 for files that are not UTF-8; they are in the blob as they are
  size_t failed = 0;         // the file that could not be read, and why
  int error = 0;
};

// Bytes that grow in place where the system can, and are not cleared first.
struct Growing {
  uint8_t* data = nullptr;
  size_t size = 0, used = 0;

  Growing() = default;
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() { std::free(data); }
  void make_room(size_t more) {
    if (size - used >= more) return;
    const size_t wanted = std::max<size_t>(2 * size, used + more);
    auto* grown = static_cast<uint8_t*>(std::realloc(data, wanted));
    if (!grown) throw std::bad_alloc();
    data = grown;
    size = wanted;
  }
};

// Appends a file to `out`; gives errno.
inline int append_file(const char* path, Growing& out) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  int error = 0;
  while (true) {
    out.make_room(size_t{1} << 16);
    const ssize_t got = read(file, out.data + out.used, out.size - out.used);
    if (got > 0) out.used += static_cast<size_t>(got);
    if (got < 0 && errno != EINTR) error = errno;
    if (got == 0 || error) break;
  }
  close(file);
  return error;
}

// The files from `from` to `to`, on one thread.
inline void read_shard(const std::string* paths, size_t from, size_t to, FileTexts& texts, Growing& out,
                       std::atomic<int>& error) {
  out.used = 0;
  for (size_t i = from; i < to && !error.load(std::memory_order_relaxed); ++i) {
    const size_t start = out.used;
    const int failure = append_file(paths[i].c_str(), out);
    if (failure) {
      int none = 0;
      if (error.compare_exchange_strong(none, failure)) texts.failed = i;
      return;
    }
    uint8_t* text = out.data + start;
    if (out.used - start >= 3 && std::memcmp(text, "\xEF\xBB\xBF", 3) == 0) {  // a byte order mark
      std::memmove(text, text + 3, out.used - start - 3);
      out.used -= 3;
    }
    texts.ends[i + 1] = static_cast<int64_t>(out.used - start);
    texts.odd[i] = !is_utf8(text, out.used - start);
  }
}

// Some files, with a thread for each of the `parts`, whose memory is used again from call to call.
inline FileTexts read_files(const std::string* paths, size_t count, std::vector<Growing>& parts) {
  FileTexts texts;
  texts.ends = Array<int64_t>(count + 1);
  texts.odd.resize(count);
  const auto n = static_cast<unsigned>(parts.size());
  std::atomic<int> error{0};
  Stop stop;
  run_sharded(n, stop,
              [&](unsigned s) { read_shard(paths, count * s / n, count * (s + 1) / n, texts, parts[s], error); });
  texts.error = error;
  if (texts.error) return texts;
  for (size_t i = 0; i < count; ++i) texts.ends[i + 1] += texts.ends[i];
  texts.blob = Array<uint8_t>::unset(static_cast<size_t>(texts.ends[count]));
  run_sharded(n, stop, [&](unsigned s) {
    uint8_t* to = texts.blob.data() + texts.ends[count * s / n];
    if (parts[s].used) std::memcpy(to, parts[s].data, parts[s].used);
  });
  return texts;
}

inline FileTexts read_files(const std::vector<std::string>& paths, unsigned threads) {
  std::vector<Growing> parts(std::max<size_t>(1, std::min<size_t>({threads, paths.size() / 64, 64})));
  return read_files(paths.data(), paths.size(), parts);
}

}  // namespace unnaive
