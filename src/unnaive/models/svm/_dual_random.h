// A small random generator, so that a seed gives the same order of documents on every system: SplitMix64 (Steele, Lea
// and Flood 2014). solver_reference.py has the same generator.
#pragma once
#include <cstdint>
#include <utility>

namespace unnaive {

class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : state_(seed + stream * 0xD1342543DE82EF95u) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t below(uint64_t n) { return (next() >> 32) * n >> 32; }  // for n < 2^32

  template <typename Order>
  void shuffle(Order& order) {
    for (size_t i = 0; i < order.size(); ++i) std::swap(order[i], order[i + below(order.size() - i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace unnaive
