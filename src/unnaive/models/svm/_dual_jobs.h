// A queue of jobs for several threads, while the calling thread waits, checks for Ctrl-C and reports progress.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include "../../base/_threads.h"

namespace unnaive {

struct Monitor {
  std::atomic<bool> stop{false};       // set when a job has failed or the user has pressed Ctrl-C
  std::atomic<int64_t> passes{0};      // passes over the documents of all jobs so far
  std::atomic<double> violation{0.0};  // violation of the optimality conditions in the latest pass of any job
  std::atomic<int64_t> solved{0};      // number of classes that have converged
};

class Queue {
 public:
  // `workers` threads will call drain().
  Queue(int64_t count, unsigned workers, Monitor& monitor) : count_(count), monitor_(monitor), running_(workers) {}

  // The loop of a worker: run jobs until none is left or one has failed.
  template <class Work>
  void drain(const Work& work) {
    for (int64_t job; !monitor_.stop && (job = next_++) < count_;) {
      try {
        work(job);
      } catch (...) {
        fail(std::current_exception());
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    --running_;
    done_.notify_all();
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = error;
    monitor_.stop = true;
  }

  bool finished_within(std::chrono::milliseconds time) {
    std::unique_lock<std::mutex> lock(mutex_);
    return done_.wait_for(lock, time, [&] { return running_ == 0; });
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const int64_t count_;
  Monitor& monitor_;
  std::atomic<int64_t> next_{0};
  unsigned running_;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable done_;
};

// Call work(job) for each job; call watch() on this thread every 50 ms and at the end. Exceptions of both are rethrown
// here.
template <class Work, class Watch>
void run_jobs(int64_t count, int n_threads, Monitor& monitor, const Work& work, const Watch& watch) {
  const auto workers = static_cast<unsigned>(std::max<int64_t>(0, std::min<int64_t>(n_threads, count)));
  Queue queue(count, workers, monitor);
  on_threads(workers + 1, [&](unsigned part) {
    if (part) return queue.drain(work);
    while (!queue.finished_within(std::chrono::milliseconds(50))) {
      try {
        watch();
      } catch (...) {
        queue.fail(std::current_exception());
      }
    }
  });
  queue.rethrow();
  watch();
}

}  // namespace unnaive
