// The order of terms by their bytes, which is the order of code points, and terms in a given order.
#pragma once
#include "_kernel_memory.h"
#include "_kernel_token.h"

namespace unnaive {

// Terms as one piece of memory and the start of each.
struct TermList {
  const uint8_t* bytes;
  const int64_t* starts;  // and the end of the last
  size_t count;

  size_t size() const { return count; }
  Bytes operator[](size_t i) const { return {bytes + starts[i], static_cast<size_t>(starts[i + 1] - starts[i])}; }

  // Whether n bytes from there on are readable.
  bool has(const uint8_t* from, ptrdiff_t n) const { return bytes + starts[count] - from >= n; }

  // 8 bytes of a term from `at` on as an integer that compares like them; bytes after its end are 0.
  uint64_t eight_bytes(size_t i, size_t at) const {
    const Bytes term = (*this)[i];
    if (term.size <= at) return 0;
    const uint8_t* from = term.data + at;
    const size_t size = std::min<size_t>(term.size - at, 8);
    if (has(from, 8)) return __builtin_bswap64(load8(from) & key_masks.low[size]);
    uint8_t padded[8] = {};
    std::memcpy(padded, from, size);
    return __builtin_bswap64(load8(padded));
  }
};

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

// Sort terms whose first 8 bytes are equal by the others.
inline void sort_by_rest(KeyedTerm* from, KeyedTerm* to, const TermList& terms) {
  constexpr ptrdiff_t kFew = 24;
  for (KeyedTerm* one = from; one < to; ++one) one->key = terms.eight_bytes(one->term, 8);
  const auto before = [&](const KeyedTerm& a, const KeyedTerm& b) {
    return a.key != b.key ? a.key < b.key : comes_before(terms[a.term], terms[b.term]);
  };
  if (to - from > kFew) return std::stable_sort(from, to, before);
  for (KeyedTerm* next = from + 1; next < to; ++next)
    std::rotate(std::upper_bound(from, next, *next, before), next, next + 1);
}

// The indices of the terms in ascending order of their bytes; empty if the terms are already in order.
inline Array<int64_t> order_of_terms(const TermList& terms) {
  size_t sorted = 1;
  while (sorted < terms.size() && !comes_before(terms[sorted], terms[sorted - 1])) ++sorted;
  if (sorted >= terms.size()) return {};
  auto keyed = Array<KeyedTerm>::unset(terms.size());
  for (size_t t = 0; t < terms.size(); ++t) keyed[t] = {terms.eight_bytes(t, 0), static_cast<uint32_t>(t)};
  sort_by_key(keyed);
  for (size_t from = 0, to = 0; from < keyed.size(); from = to) {
    while (to < keyed.size() && keyed[to].key == keyed[from].key) ++to;
    if (to > from + 1) sort_by_rest(keyed.data() + from, keyed.data() + to, terms);
  }
  auto order = Array<int64_t>::unset(keyed.size());
  for (size_t place = 0; place < keyed.size(); ++place) order[place] = keyed[place].term;
  return order;
}

// Concatenate the chosen terms in the given order; `ends` starts with a 0.
inline void take_terms(const TermList& terms, const int64_t* chosen, size_t n, Array<uint8_t>& bytes,
                       Array<int64_t>& ends) {
  constexpr size_t kShort = 16;  // copying this many bytes is faster than copying as many as a term has
  ends = Array<int64_t>(n + 1);
  for (size_t i = 0; i < n; ++i)
    ends[i + 1] = ends[i] + static_cast<int64_t>(terms[static_cast<size_t>(chosen[i])].size);
  bytes = Array<uint8_t>::unset(static_cast<size_t>(ends[n]) + kShort);
  for (size_t i = 0; i < n; ++i) {
    const Bytes term = terms[static_cast<size_t>(chosen[i])];
    if (term.size <= kShort && terms.has(term.data, kShort)) {
      std::memcpy(bytes.data() + ends[i], term.data, kShort);
    } else if (term.size) {
      std::memcpy(bytes.data() + ends[i], term.data, term.size);
    }
  }
  bytes.resize(static_cast<size_t>(ends[n]));
}

}  // namespace unnaive
