// The order of terms by their bytes, which is the order of code points, and terms in a given order.
#pragma once
#include <vector>

#include "_kernel_memory.h"
#include "_kernel_token.h"

namespace unnaive {

// The first 8 bytes as an integer that compares like them; bytes after the end are 0.
inline uint64_t first_bytes(Bytes term) {
  uint8_t bytes[8] = {};
  std::memcpy(bytes, term.data, std::min<size_t>(term.size, 8));
  return __builtin_bswap64(load8(bytes));
}

inline bool comes_before(Bytes a, Bytes b) {
  const size_t both = std::min(a.size, b.size);
  const int found = both ? std::memcmp(a.data, b.data, both) : 0;
  return found ? found < 0 : a.size < b.size;
}

struct KeyedTerm {
  uint64_t key;
  uint32_t term;
};

// Radix sort by keys, from the last byte to the first; bytes that are equal in all keys are skipped.
inline void sort_by_key(Array<KeyedTerm>& terms) {
  const size_t n = terms.size();
  const auto byte_of = [](const KeyedTerm& one, unsigned place) { return one.key >> 8 * place & 0xFF; };
  size_t starts[8][257] = {};
  for (size_t i = 0; i < n; ++i)
    for (unsigned place = 0; place < 8; ++place) ++starts[place][byte_of(terms[i], place) + 1];
  auto moved = Array<KeyedTerm>::unset(n);
  for (unsigned place = 0; place < 8; ++place) {
    size_t* next = starts[place];
    if (std::find(next, next + 257, n) != next + 257) continue;
    for (unsigned byte = 0; byte < 256; ++byte) next[byte + 1] += next[byte];
    for (size_t i = 0; i < n; ++i) moved[next[byte_of(terms[i], place)]++] = terms[i];
    std::swap(terms, moved);
  }
}

// The indices of the terms in ascending order of their bytes; empty if the terms are already in order.
inline Array<int64_t> order_of_terms(const std::vector<Bytes>& terms) {
  size_t sorted = 1;
  while (sorted < terms.size() && !comes_before(terms[sorted], terms[sorted - 1])) ++sorted;
  if (sorted >= terms.size()) return {};
  auto keyed = Array<KeyedTerm>::unset(terms.size());
  for (size_t t = 0; t < terms.size(); ++t) keyed[t] = {first_bytes(terms[t]), static_cast<uint32_t>(t)};
  sort_by_key(keyed);
  const auto by_bytes = [&](const KeyedTerm& a, const KeyedTerm& b) {
    return comes_before(terms[a.term], terms[b.term]);
  };
  for (size_t from = 0, to = 0; from < keyed.size(); from = to) {
    while (to < keyed.size() && keyed[to].key == keyed[from].key) ++to;
    if (to > from + 1) std::stable_sort(keyed.data() + from, keyed.data() + to, by_bytes);
  }
  auto order = Array<int64_t>::unset(keyed.size());
  for (size_t place = 0; place < keyed.size(); ++place) order[place] = keyed[place].term;
  return order;
}

// Concatenate the chosen terms in the given order; `ends` starts with a 0.
inline void take_terms(const std::vector<Bytes>& terms, const int64_t* chosen, size_t n, Array<uint8_t>& bytes,
                       Array<int64_t>& ends) {
  ends = Array<int64_t>(n + 1);
  for (size_t i = 0; i < n; ++i)
    ends[i + 1] = ends[i] + static_cast<int64_t>(terms[static_cast<size_t>(chosen[i])].size);
  bytes = Array<uint8_t>(static_cast<size_t>(ends[n]));
  for (size_t i = 0; i < n; ++i) {
    const Bytes term = terms[static_cast<size_t>(chosen[i])];
    if (term.size) std::memcpy(bytes.data() + ends[i], term.data, term.size);
  }
}

}  // namespace unnaive
