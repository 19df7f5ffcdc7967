// Term ids: words, and n-grams as (prefix, word) pairs; ids are given in the order of first occurrence.
#pragma once
#include "_kernel_table.h"

namespace unnaive {

constexpr uint32_t kGram = 0x80000000u;  // marks the id of an n-gram apart from that of a word

// An item is a word entry, or a gram entry with kGram; a term is an item that is counted.
class Terms {
 public:
  // `stops` words stand first in the table; they are dropped before they get here.
  Terms(WordTable& words, uint32_t stops, unsigned shortest, unsigned longest)
      : words_(&words), stops_(stops), shortest_(shortest), longest_(longest) {}

  // The same terms over a copy of the words.
  Terms(const Terms& other, WordTable& words) : Terms(other) { words_ = &words; }

  // Single words: the term of an entry is its place after the stop words, and no other table is needed.
  bool plain() const { return longest_ == 1; }
  uint32_t stops() const { return stops_; }
  unsigned shortest() const { return shortest_; }
  unsigned longest() const { return longest_; }
  WordTable& words() { return *words_; }
  const WordTable& words() const { return *words_; }
  PairTable& grams() { return grams_; }

  uint32_t size() const { return plain() ? words_->size() - stops_ : size_; }

  // Room for the terms of n more words, all of which may be new.
  void make_room(size_t n) {
    const size_t terms = n * longest_;
    if (size_ + terms > 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct terms");
    grams_.make_room(terms);
    items_.make_room(size_ + terms + 1);
    of_word_.make_room(words_->size() + 1);
  }

  // The term of a word entry or of a gram's slot, kNone if it has none; only where there are n-grams.
  uint32_t term_of_word(uint32_t word) const { return word < of_word_.size() ? of_word_[word] - 1 : kNone; }
  uint32_t term_of_gram(size_t place) { return grams_.at(place).term; }

  // The same, but one without a term gets the next id. There is room; old and new take the same way, without a branch.
  uint32_t give_word(uint32_t word) {
    of_word_[word] = given(of_word_[word] - 1, word) + 1;
    return of_word_[word] - 1;
  }
  uint32_t give_gram(size_t place) {
    PairTable::Slot& slot = grams_.at(place);
    return slot.term = given(slot.term, slot.entry | kGram);
  }

  // The terms of a given vocabulary, at the next ids. Those that come first in `order`, which has every place in it,
  // get the slot where they are looked for first.
  void add(const std::vector<Bytes>& terms, const std::vector<uint32_t>& order) {
    if (!plain()) {
      for (const Bytes& term : terms) add_words_of(term);
      return;
    }
    const uint32_t first = words_->size();
    std::vector<Bytes> ordered;
    ordered.reserve(terms.size());
    for (const uint32_t place : order) ordered.push_back(terms[place]);
    for (const Bytes& term : terms) words_->append(term);
    words_->reserve(words_->size());
    // a stop word has its slot: as a term it keeps its id, but no text reaches it
    words_->each_token(ordered, [&](const Token& token, size_t i) { words_->settle(token, first + order[i]); });
  }

  // How far a copy goes: what comes behind was learnt apart.
  struct Known {
    uint32_t words, grams, terms;
  };
  Known known() const { return {words_->size(), grams_.size(), size()}; }

  // Maps the terms that a copy, which counted later documents, has learnt since to ids here; new ones get the next ids.
  std::vector<uint32_t> merge(const Terms& copy, const Known& known) {
    const bool same = copy.words_ == words_;
    std::vector<uint32_t> word = same ? std::vector<uint32_t>() : words_->merge(*copy.words_, known.words);
    if (plain()) {
      for (uint32_t& entry : word) entry -= stops_;
      return word;
    }
    const auto word_here = [&](uint32_t entry) {
      return same || entry < known.words ? entry : word[entry - known.words];
    };
    const std::vector<size_t> gram = merged_grams(copy, known, word_here);
    const auto place_here = [&](uint32_t entry) {
      return entry < known.grams ? grams_.find(copy.grams_[entry]) : gram[entry - known.grams];
    };
    std::vector<uint32_t> ids(copy.size() - known.terms);
    for (uint32_t t = 0; t < ids.size(); ++t) {
      const uint32_t item = copy.items_[known.terms + t];
      ids[t] = item & kGram ? give_gram(place_here(item & ~kGram)) : give_word(word_here(item));
    }
    return ids;
  }

  // No pair is 0, which marks a free slot.
  static uint64_t pair_of(uint32_t prefix, uint32_t word) { return static_cast<uint64_t>(prefix) << 32 | (word + 1); }
  static uint32_t prefix_of(uint64_t pair) { return static_cast<uint32_t>(pair >> 32); }
  static uint32_t word_of(uint64_t pair) { return static_cast<uint32_t>(pair) - 1; }

  // The text of every term, one after another, and where each ends, after a 0.
  void write(Array<uint8_t>& bytes, Array<int64_t>& ends) const {
    ends = Array<int64_t>(size() + 1);
    bytes = Array<uint8_t>(words_->total_bytes() + 1);
    size_t used = 0;
    for (uint32_t t = 0; t < size(); ++t) {
      used = write_item(plain() ? t + stops_ : items_[t], bytes, used);
      ends[t + 1] = static_cast<int64_t>(used);
    }
    bytes.resize(used);
  }

 private:
  // An n-gram is its prefix, a space, and its last word.
  size_t write_item(uint32_t item, Array<uint8_t>& bytes, size_t used) const {
    if (item & kGram) {
      const uint64_t pair = grams_[item & ~kGram];
      used = write_item(prefix_of(pair), bytes, used);
      bytes[used++] = ' ';
      item = word_of(pair);
    }
    const Bytes word = (*words_)[item];
    bytes.make_room(used + word.size + WordTable::kSlack);
    if (word.size <= WordTable::kSlack) {
      std::memcpy(bytes.data() + used, word.data, WordTable::kSlack);  // quicker than the right number
    } else {
      std::memcpy(bytes.data() + used, word.data, word.size);
    }
    return used + word.size;
  }

  uint32_t given(uint32_t term, uint32_t item) {
    items_[size_] = item;
    const uint32_t id = term == kNone ? size_ : term;
    size_ += term == kNone;
    return id;
  }

  // The words of a term are joined by spaces; no word has one.
  void add_words_of(Bytes term) {
    const uint8_t *start = term.data, *end = term.data + term.size;
    uint32_t item = kNone;
    uint64_t pair = 0;
    while (true) {
      const uint8_t* stop = std::find(start, end, static_cast<uint8_t>(' '));
      const uint32_t word = words_->insert(Bytes{start, static_cast<size_t>(stop - start)});
      make_room(1);
      if (item == kNone) {
        item = word;
      } else {
        pair = pair_of(item, word);
        item = grams_.at(grams_.insert(pair)).entry | kGram;
      }
      if (stop == end) break;
      start = stop + 1;
    }
    pair ? give_gram(grams_.find(pair)) : give_word(item);
  }

  // The slots here of the grams that a copy has learnt, given the entries of its words; a prefix has come before what
  // it begins.
  template <class WordHere>
  std::vector<size_t> merged_grams(const Terms& copy, const Known& known, WordHere&& word_here) {
    const uint32_t n = copy.grams_.size() - known.grams;
    grams_.make_room(n);
    items_.make_room(size_ + size_t{copy.size()} + 1);
    of_word_.make_room(words_->size() + 1);
    std::vector<size_t> places(n);
    const auto item_here = [&](uint32_t item) {
      if (!(item & kGram)) return word_here(item);
      const uint32_t entry = item & ~kGram;
      return entry < known.grams ? item : grams_.at(places[entry - known.grams]).entry | kGram;
    };
    const auto pair_here = [&](uint32_t gram) {
      const uint64_t pair = copy.grams_[known.grams + gram];
      return pair_of(item_here(prefix_of(pair)), word_here(word_of(pair)));
    };
    const Ahead ahead = grams_.ahead();
    for (uint32_t from = 0; from < n; from += kBatch) {
      const uint32_t to = std::min(n, from + kBatch);
      // a prefix in the same batch has no slot yet: a wrong guess is fetched in vain
      for (uint32_t g = from; g < to; ++g) ahead.fetch(PairTable::hash_of_pair(pair_here(g)));
      for (uint32_t g = from; g < to; ++g) places[g] = grams_.insert(pair_here(g));
    }
    return places;
  }

  WordTable* words_;
  uint32_t stops_;
  unsigned shortest_, longest_;
  uint32_t size_ = 0;  // where there are n-grams, as are:
  PairTable grams_;
  Array<uint32_t> of_word_;  // term of each word entry, plus 1
  Array<uint32_t> items_;    // item of each term
};

}  // namespace unnaive
