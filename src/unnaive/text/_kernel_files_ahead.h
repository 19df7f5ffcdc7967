// Reads files in order on a separate thread, while the caller does something else.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "_kernel_files.h"

namespace unnaive {

class FilesAhead {
 public:
  // Read `batch` files at a time; pause while files of `most` bytes or more are waiting to be taken.
  FilesAhead(std::vector<std::string> paths, size_t batch, size_t most)
      : paths_(std::move(paths)), batch_(batch), most_(most), thread_([this] { work(); }) {}

  ~FilesAhead() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Wait for the next batch; without files if all have been taken.
  FileTexts take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      if (problem_) std::rethrow_exception(problem_);
      return {};
    }
    FileTexts texts = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= texts.bytes();
    changed_.notify_all();
    return texts;
  }

 private:
  void work() {
    std::exception_ptr problem;
    try {
      for (size_t from = 0; from < paths_.size(); from += batch_) {
        const size_t count = std::min(batch_, paths_.size() - from);
        if (!put(read_files(paths_.data() + from, count, 1))) break;
      }
    } catch (...) {
      problem = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    problem_ = problem;
    ended_ = true;
    changed_.notify_all();
  }

  // Wait for space, then add the batch; false if the reader must stop.
  bool put(FileTexts texts) {
    const bool failed = texts.error != 0;
    std::unique_lock<std::mutex> lock(mutex_);
    bytes_ += texts.bytes();
    waiting_.push_back(std::move(texts));
    changed_.notify_all();
    changed_.wait(lock, [this] { return stopped_ || bytes_ < most_; });
    return !stopped_ && !failed;
  }

  const std::vector<std::string> paths_;
  const size_t batch_, most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FileTexts> waiting_;
  size_t bytes_ = 0;
  bool stopped_ = false, ended_ = false;
  std::exception_ptr problem_;
  std::thread thread_;  // the last member, because the thread uses the others
};

}  // namespace unnaive
