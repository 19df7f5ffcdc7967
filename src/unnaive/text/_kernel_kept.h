// A value that is made of Python's objects when it is first asked for, and then kept for ever.
#pragma once
#include <atomic>
#include <memory>

namespace unnaive {

// To be a static variable. C++ would let other threads wait for one that makes a static variable itself; they would
// wait with the GIL, or where there is none keep the interpreter from stopping all threads, which the one that makes it
// may need. Here nobody waits: who comes meanwhile makes another, and the first to be ready is kept.
template <class T>
class Kept {
 public:
  template <class Make>
  const T& get(const Make& make) {
    const T* found = value_.load(std::memory_order_acquire);
    if (found) return *found;
    auto made = std::make_unique<const T>(make());
    return value_.compare_exchange_strong(found, made.get()) ? *made.release() : *found;
  }

 private:
  std::atomic<const T*> value_{nullptr};
};

}  // namespace unnaive
