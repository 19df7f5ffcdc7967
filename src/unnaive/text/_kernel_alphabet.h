// The alphabetical place of each term. That of pairs of words follows from the places of their words.
#pragma once
#include "_kernel_order.h"
#include "_kernel_terms.h"

namespace unnaive {

inline Array<int32_t> places_of(const TermList& terms) {
  const Array<int64_t> order = order_of_terms(terms);
  auto places = Array<int32_t>::unset(terms.size());
  for (size_t i = 0; i < terms.size(); ++i)
    places[order.size() ? static_cast<size_t>(order[i]) : i] = static_cast<int32_t>(i);
  return places;
}

// Counting sort by the second word, where none comes first, then by the first: "a" < "a b" < "ab", because a space
// comes before every character of a word.
inline Array<int32_t> places_of_pairs(const Terms& terms) {
  const WordTable& words = terms.words();
  const Array<int32_t> place = places_of({words.bytes(), words.ends(), words.size()});
  const uint32_t n = terms.size();
  Array<uint32_t> by_first(size_t{words.size()} + 1), by_second(size_t{words.size()} + 2);
  for (uint32_t t = 0; t < n; ++t) {
    const auto [first, second] = terms.words_of(t);
    ++by_first[static_cast<size_t>(place[first]) + 1];
    ++by_second[second == kNone ? 1 : static_cast<size_t>(place[second]) + 2];
  }
  for (size_t i = 1; i < by_first.size(); ++i) by_first[i] += by_first[i - 1];
  for (size_t i = 1; i < by_second.size(); ++i) by_second[i] += by_second[i - 1];
  auto sorted = Array<uint32_t>::unset(n);
  for (uint32_t t = 0; t < n; ++t) {
    const uint32_t second = terms.words_of(t).second;
    sorted[by_second[second == kNone ? 0 : static_cast<size_t>(place[second]) + 1]++] = t;
  }
  auto places = Array<int32_t>::unset(n);
  for (uint32_t i = 0; i < n; ++i)
    places[sorted[i]] = static_cast<int32_t>(by_first[static_cast<size_t>(place[terms.words_of(sorted[i]).first])]++);
  return places;
}

// The place of each term in the order of their bytes.
inline Array<int32_t> alphabetical(const Terms& terms) {
  const WordTable& words = terms.words();
  const uint8_t* end = words.bytes() + words.total_bytes();
  const bool after_spaces = std::all_of(words.bytes(), end, [](uint8_t byte) { return byte > ' '; });
  if (terms.longest() == 2 && after_spaces) return places_of_pairs(terms);
  Array<uint8_t> bytes;
  Array<int64_t> ends;
  terms.write(bytes, ends);
  return places_of({bytes.data(), ends.data(), terms.size()});
}

}  // namespace unnaive
