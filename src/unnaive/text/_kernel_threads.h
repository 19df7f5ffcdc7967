// Distribute shards of documents over threads; the calling thread also works, and checks for Ctrl-C.
#pragma once
#include <time.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "../base/_threads.h"
#include "_kernel_text.h"

namespace unnaive {

// Set when a worker has failed or the user has pressed Ctrl-C; the others stop at their next document.
struct Stop {
  std::atomic<bool> now{false};
};

// Checks for Ctrl-C from time to time on the calling thread.
struct Listener {
  const std::function<void()>& listen;
  bool listens;
  size_t read = 0;  // bytes since the last check

  void after(size_t bytes) {
    if (!listens || (read += bytes) < kListen) return;
    read = 0;
    listen();
  }
  static constexpr size_t kListen = size_t{4} << 20;
};

inline size_t size_of(const Documents& documents, size_t row) { return documents.at(row).length + 16; }

inline size_t total_size(const Documents& documents, size_t from = 0) {
  size_t total = 0;
  for (size_t row = from; row < documents.count; ++row) total += size_of(documents, row);
  return total;
}

inline size_t longest_size(const Documents& documents) {
  size_t longest = 0;
  for (size_t row = 0; row < documents.count; ++row) longest = std::max(longest, size_of(documents, row));
  return longest;
}

// The bounds of `shards` contiguous ranges of about equal size in bytes, from row `from` on.
inline std::vector<size_t> shard_bounds(const Documents& documents, unsigned shards, size_t from = 0) {
  std::vector<size_t> bounds{from};
  const size_t share = total_size(documents, from) / shards + 1;
  size_t sum = 0;
  for (size_t row = from; row < documents.count && bounds.size() < shards; ++row) {
    sum += size_of(documents, row);
    if (sum >= share * bounds.size()) bounds.push_back(row + 1);
  }
  while (bounds.size() <= shards) bounds.push_back(documents.count);
  return bounds;
}

// Processor seconds of this thread so far; 0 if the system does not provide them.
inline double thread_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#else
  return 0;
#endif
}

// Call work(shard) for every shard, the first on this thread; the first exception is rethrown here.
template <class Work>
void run_sharded(unsigned shards, Stop& stop, const Work& work) {
  on_threads(shards, [&](unsigned shard) {
    try {
      work(shard);
    } catch (...) {
      stop.now = true;
      throw;
    }
  });
}

// The same; returns the processor seconds of the slowest shard, the time it would take with one core for each shard.
template <class Work>
double longest_of(unsigned shards, Stop& stop, Work&& work) {
  std::vector<double> seconds(shards);
  run_sharded(shards, stop, [&](unsigned shard) {
    const double start = thread_seconds();
    work(shard);
    seconds[shard] = thread_seconds() - start;
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace unnaive
