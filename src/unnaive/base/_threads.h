// The one place where native code starts threads for parts of a task.
#pragma once
#include <exception>
#include <thread>
#include <vector>

namespace unnaive {

// Call work(part) for the parts 0 … parts − 1, each on a thread of its own and part 0 on this one; a part that gets no
// thread is done here. When all have ended, the exception of the first part that has one is rethrown.
template <class Work>
void on_threads(unsigned parts, const Work& work) {
  if (parts <= 1) return work(0u);
  std::vector<std::exception_ptr> errors(parts);
  std::vector<std::thread> threads;
  threads.reserve(parts - 1);
  const auto guarded = [&](unsigned part) noexcept {
    try {
      work(part);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  for (unsigned part = 1; part < parts; ++part) {
    try {
      threads.emplace_back(guarded, part);
    } catch (...) {  // the system gives no more threads, or no memory for one
      guarded(part);
    }
  }
  guarded(0);
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace unnaive
