// A value that is computed from Python objects at its first use and then kept for ever.
#pragma once
#include <atomic>
#include <memory>

namespace unnaive {

// For static variables. C++ makes threads wait while another initialises a static variable. They would hold the GIL
// meanwhile, which the initialising thread may need; without a GIL they would block a stop-the-world pause. Here nobody
// waits: threads that arrive early compute the value as well, and the first result is kept.
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
