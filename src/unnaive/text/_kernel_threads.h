// Shards of documents over threads; the calling thread works too, and listens for Ctrl-C.
#pragma once
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "_kernel_text.h"

namespace unnaive {

// Set when a worker has failed or the user has had enough; the others stop at their next document.
struct Stop {
  std::atomic<bool> now{false};
};

// Bounds of `shards` contiguous runs of documents of about equal bytes, but for the first, which has `first` of a
// share.
inline std::vector<size_t> shard_bounds(const Documents& documents, unsigned shards, double first = 1) {
  std::vector<size_t> bounds{0};
  double total = 0, sum = 0;
  for (size_t row = 0; row < documents.count; ++row) total += static_cast<double>(documents.at(row).length + 16);
  const double share = total / (first + shards - 1);
  for (size_t row = 0; row < documents.count && bounds.size() < shards; ++row) {
    sum += static_cast<double>(documents.at(row).length + 16);
    if (sum >= share * (first + static_cast<double>(bounds.size() - 1))) bounds.push_back(row + 1);
  }
  while (bounds.size() <= shards) bounds.push_back(documents.count);
  return bounds;
}

// work(shard) for every shard, the first on this thread; the first exception is thrown again here.
template <class Work>
void run_sharded(unsigned shards, Stop& stop, Work&& work) {
  if (shards == 1) return work(0);
  std::vector<std::exception_ptr> errors(shards);
  const auto guarded = [&](unsigned shard) {
    try {
      work(shard);
    } catch (...) {
      errors[shard] = std::current_exception();
      stop.now = true;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned shard = 1; shard < shards; ++shard) {
    try {
      threads.emplace_back(guarded, shard);
    } catch (const std::system_error&) {
      guarded(shard);  // no more threads to be had
    }
  }
  guarded(0);
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace unnaive
