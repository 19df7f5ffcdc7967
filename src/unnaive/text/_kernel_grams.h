// A batch of words → the terms of the n-grams that end with each of them, the short ones first.
#pragma once
#include "_kernel_terms.h"

namespace unnaive {

class Grams {
 public:
  static constexpr unsigned kLongest = 8;

  // The next word begins a new sequence.
  void start_sequence() { std::fill(previous_, previous_ + kLongest, kNone); }

  // Writes terms to `out` and gives how many; kNone among the words stands for an unknown one. What has no id is left
  // out, or with kGrow gets the next.
  template <bool kGrow>
  unsigned terms_of(const uint32_t* words, unsigned n, Terms& terms, uint32_t* out) {
    if (n == 0) return 0;
    if (kGrow) terms.make_room(n);
    std::copy(words, words + n, items_);
    // length by length, so that the slots of a batch are fetched together
    for (unsigned length = 2; length <= terms.longest(); ++length) lengthen<kGrow>(words, n, length, terms.grams());
    unsigned found = 0;
    const auto add = [&](uint32_t term) {
      out[found] = term;
      found += term != kNone;
    };
    for (unsigned i = 0; i < n; ++i) {
      if (terms.shortest() == 1 && words[i] != kNone)
        add(kGrow ? terms.give_word(words[i]) : terms.term_of_word(words[i]));
      for (unsigned length = std::max(2u, terms.shortest()); length <= terms.longest(); ++length) {
        const size_t place = places_[length - 2][i];
        if (place != PairTable::kNowhere) add(kGrow ? terms.give_gram(place) : terms.term_of_gram(place));
      }
    }
    return found;
  }

  // The same for words that stand in no n-gram: each is a term, whatever the lengths, and no n-gram goes over it.
  template <bool kGrow>
  unsigned single_terms_of(const uint32_t* words, unsigned n, Terms& terms, uint32_t* out) {
    start_sequence();
    if (kGrow) terms.make_room(n);
    unsigned found = 0;
    for (unsigned i = 0; i < n; ++i) {
      if (words[i] == kNone) continue;
      out[found] = kGrow ? terms.give_word(words[i]) : terms.term_of_word(words[i]);
      found += out[found] != kNone;
    }
    return found;
  }

 private:
  // items_[i], the gram of one word less that ends with word i, becomes that of `length` words.
  template <bool kGrow>
  void lengthen(const uint32_t* words, unsigned n, unsigned length, PairTable& grams) {
    uint32_t& previous = previous_[length - 2];
    uint32_t before = previous;
    previous = items_[n - 1];
    const Ahead ahead = grams.ahead();
    for (unsigned i = 0; i < n; ++i) {
      const bool whole = before != kNone && words[i] != kNone;
      pairs_[i] = whole ? Terms::pair_of(before, words[i]) : 0;
      ahead.fetch(PairTable::hash_of_pair(pairs_[i]));
      before = items_[i];
    }
    size_t* places = places_[length - 2];
    for (unsigned i = 0; i < n; ++i) {
      places[i] = PairTable::kNowhere;
      if (pairs_[i]) places[i] = kGrow ? grams.insert(pairs_[i]) : grams.find(pairs_[i]);
      items_[i] = places[i] == PairTable::kNowhere ? kNone : grams.at(places[i]).entry | kGram;
    }
  }

  uint32_t previous_[kLongest];  // items of the 1-, 2-, … grams that end with the word before
  uint32_t items_[kBatch];
  uint64_t pairs_[kBatch];
  size_t places_[kLongest][kBatch];  // slots of the grams of 2, 3, … words
};

}  // namespace unnaive
