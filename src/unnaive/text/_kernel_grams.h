// A batch of words → the terms of the n-grams that end with each word, the short ones first.
#pragma once
#include "_kernel_terms.h"

namespace unnaive {

class Grams {
 public:
  static constexpr unsigned kLongest = 8;

  // Start a new sequence: no n-gram spans the words before and after.
  void start_sequence() { std::fill(previous_, previous_ + kLongest, kNone); }

  // Write terms to `out` and return their number; kNone stands for an unknown word. N-grams without an id are left out,
  // or get the next id if kGrow is set.
  template <bool kGrow>
  unsigned terms_of(const uint32_t* words, unsigned n, Terms& terms, uint32_t* out) {
    if (n == 0) return 0;
    if (kGrow) terms.make_room(n);
    std::copy(words, words + n, items_);
    // one length after another, so that the slots of a batch are prefetched together
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

  // The same for a fixed vocabulary with n-grams of two words, which are in `pairs`. Pairs are prefetched kLead words
  // ahead, and fetch(term) is called for every term, so that loads overlap with look-ups.
  template <class Fetch>
  unsigned terms_of_pairs(const uint32_t* words, unsigned n, const Terms& terms, const PairTerms& pairs, uint32_t* out,
                          Fetch&& fetch) {
    if (n == 0) return 0;
    uint32_t before = previous_[0];
    previous_[0] = words[n - 1];
    const bool singles = terms.shortest() == 1;
    unsigned found = 0;
    for (unsigned i = 0; i < n + kLead; ++i) {
      if (i < n) {
        terms.fetch_word(words[i]);
        pairs_[i] = pairs.key_of(before, words[i]);
        pairs.fetch(pairs_[i]);
        before = words[i];
      }
      if (i < kLead) continue;
      const uint32_t word = singles ? terms.term_of_word(words[i - kLead]) : kNone;
      out[found] = word;
      found += word != kNone;
      fetch(word == kNone ? 0 : word);
      const uint32_t pair = pairs.term_of(pairs_[i - kLead]);
      out[found] = pair;
      found += pair != kNone;
      fetch(pair == kNone ? 0 : pair);
    }
    return found;
  }

  // The same for words that are in no n-gram: each is a term, whatever the lengths, and no n-gram spans it.
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
  // Replace items_[i], the gram of length − 1 words that ends with word i, by that of `length` words.
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

  static constexpr unsigned kLead = 32;  // words between prefetching a pair and looking it up

  uint32_t previous_[kLongest];  // items of the 1-, 2-, … grams that end with the last word of the previous batch
  uint32_t items_[kBatch];
  uint64_t pairs_[kBatch];
  size_t places_[kLongest][kBatch];  // slots of the grams of 2, 3, … words that end with each word
};

}  // namespace unnaive
