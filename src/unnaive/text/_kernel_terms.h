// Term ids: words, and n-grams as (prefix, word) pairs; ids are given in the order of first occurrence.
#pragma once
#include <algorithm>
#include <string>

#include "_kernel_table.h"

namespace unnaive {

constexpr uint32_t kGram = 0x80000000u;  // marks the id of an n-gram apart from that of a word

// An item is a word entry, or a gram entry with kGram; a term is an item that is counted.
class Terms {
 public:
  // `stops` words stand first in the table; they are dropped before they get here.
  Terms(WordTable& words, uint32_t stops, unsigned shortest, unsigned longest)
      : words_(&words), stops_(stops), shortest_(shortest), longest_(longest) {}

  // Single words: the term of an entry is its place after the stop words, and no other table is needed.
  bool plain() const { return longest_ == 1; }
  uint32_t stops() const { return stops_; }
  unsigned shortest() const { return shortest_; }
  unsigned longest() const { return longest_; }
  WordTable& words() { return *words_; }
  const WordTable& words() const { return *words_; }
  PairTable& grams() { return grams_; }
  const PairTable& grams() const { return grams_; }
  void look_at(WordTable& words) { words_ = &words; }

  uint32_t size() const { return plain() ? words_->size() - stops_ : static_cast<uint32_t>(items_.size()); }

  uint32_t term_of(uint32_t item) const {
    if (plain()) return item - stops_;
    const auto& of = item & kGram ? of_gram_ : of_word_;
    const uint32_t entry = item & ~kGram;
    return entry < of.size() ? of[entry] : kNone;
  }

  // Gives the item the next id; only where there are n-grams.
  uint32_t assign(uint32_t item) {
    auto& of = item & kGram ? of_gram_ : of_word_;
    const uint32_t entry = item & ~kGram;
    if (entry >= of.size()) of.resize(entry + 1, kNone);
    if (items_.size() > 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct terms");
    items_.push_back(item);
    return of[entry] = static_cast<uint32_t>(items_.size() - 1);
  }

  // One more term of a given vocabulary, at the next id.
  void add(Bytes term) {
    if (plain()) {
      if (words_->find(term) == kNone) {
        words_->insert(term);
      } else {
        words_->append(term);  // a stop word: it keeps its id, but no text reaches it
      }
      return;
    }
    assign(item_of(term));
  }

  // Maps the terms of `other`, which counted later documents, to ids here; new ones get the next ids.
  std::vector<uint32_t> merge(const Terms& other) {
    const std::vector<uint32_t> word = merged_words(other);
    if (plain()) {
      std::vector<uint32_t> ids(other.size());
      for (uint32_t t = 0; t < other.size(); ++t) ids[t] = word[t + stops_] - stops_;
      return ids;
    }
    std::vector<uint32_t> gram(other.grams_.size()), ids(other.size());
    for (uint32_t g = 0; g < other.grams_.size(); ++g) {
      const auto prefix = static_cast<uint32_t>(other.grams_[g] >> 32);
      const uint32_t here = prefix & kGram ? gram[prefix & ~kGram] | kGram : word[prefix];
      gram[g] = grams_.insert(pair_of(here, word[static_cast<uint32_t>(other.grams_[g])]));
    }
    for (uint32_t t = 0; t < other.size(); ++t) {
      const uint32_t item = other.items_[t];
      const uint32_t here = item & kGram ? gram[item & ~kGram] | kGram : word[item];
      const uint32_t known = term_of(here);
      ids[t] = known != kNone ? known : assign(here);
    }
    return ids;
  }

  static uint64_t pair_of(uint32_t prefix, uint32_t word) { return static_cast<uint64_t>(prefix) << 32 | word; }

  // Appends the text of every term to `bytes` and its end to `ends`.
  void write(std::vector<uint8_t>& bytes, std::vector<int64_t>& ends) const {
    ends.reserve(size() + 1);
    ends.push_back(0);
    std::vector<uint32_t> chain;
    for (uint32_t t = 0; t < size(); ++t) {
      chain.clear();
      uint32_t item = plain() ? t + stops_ : items_[t];
      for (; item & kGram; item = static_cast<uint32_t>(grams_[item & ~kGram] >> 32))
        chain.push_back(static_cast<uint32_t>(grams_[item & ~kGram]));
      write_word(item, bytes);
      for (auto word = chain.rbegin(); word != chain.rend(); ++word) {
        bytes.push_back(' ');
        write_word(*word, bytes);
      }
      ends.push_back(static_cast<int64_t>(bytes.size()));
    }
  }

 private:
  void write_word(uint32_t entry, std::vector<uint8_t>& bytes) const {
    const Bytes word = (*words_)[entry];
    bytes.insert(bytes.end(), word.data, word.data + word.size);
  }

  // The words of a term are joined by spaces; no word has one.
  uint32_t item_of(Bytes term) {
    uint32_t item = kNone;
    const uint8_t *start = term.data, *end = term.data + term.size;
    while (true) {
      const uint8_t* stop = std::find(start, end, static_cast<uint8_t>(' '));
      const uint32_t word = words_->insert(Bytes{start, static_cast<size_t>(stop - start)});
      item = item == kNone ? word : grams_.insert(pair_of(item, word)) | kGram;
      if (stop == end) return item;
      start = stop + 1;
    }
  }

  std::vector<uint32_t> merged_words(const Terms& other) {
    if (other.words_ != words_) return words_->merge(*other.words_);
    std::vector<uint32_t> same(words_->size());
    for (uint32_t w = 0; w < same.size(); ++w) same[w] = w;
    return same;
  }

  WordTable* words_;
  uint32_t stops_;
  unsigned shortest_, longest_;
  PairTable grams_;
  std::vector<uint32_t> of_word_, of_gram_;  // term of each entry, where there are n-grams
  std::vector<uint32_t> items_;              // item of each term, likewise
};

}  // namespace unnaive
