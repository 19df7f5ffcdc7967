// Term ids of words, and of n-grams as (prefix, word) pairs, in order of first occurrence.
#pragma once
#include "_kernel_pair_terms.h"

namespace unnaive {

constexpr uint32_t kGram = 0x80000000u;  // distinguishes items of n-grams from those of words

// An item is a word entry, or a gram entry with kGram set; a term is an item that is counted.
class Terms {
 public:
  // The first `stops` words of the table are stop words; they are dropped by the caller.
  Terms(WordTable& words, uint32_t stops, unsigned shortest, unsigned longest)
      : words_(&words), stops_(stops), shortest_(shortest), longest_(longest) {}

  // The same terms for a copy of the words.
  Terms(const Terms& other, WordTable& words) : Terms(other) { words_ = &words; }

  // Whether terms are single words: the term of an entry is its distance from the stop words, and no other table is
  // needed.
  bool plain() const { return longest_ == 1; }
  uint32_t stops() const { return stops_; }
  unsigned shortest() const { return shortest_; }
  unsigned longest() const { return longest_; }
  WordTable& words() { return *words_; }
  const WordTable& words() const { return *words_; }
  PairTable& grams() { return grams_; }
  const PairTable& grams() const { return grams_; }

  uint32_t size() const { return plain() ? words_->size() - stops_ : size_; }

  // Make room for the terms of n more words, all of which may be new.
  void make_room(size_t n) {
    const size_t terms = n * longest_;
    if (size_ + terms > 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct terms");
    grams_.make_room(terms);
    items_.make_room(size_ + terms + 1);
    of_word_.make_room(words_->size() + 1);
  }

  // The term of a word entry or of a gram's slot, kNone if it has none; only if there are n-grams.
  uint32_t term_of_word(uint32_t word) const { return word < of_word_.size() ? of_word_[word] - 1 : kNone; }
  void fetch_word(uint32_t word) const { __builtin_prefetch(of_word_.data() + (word < of_word_.size() ? word : 0)); }
  uint32_t term_of_gram(size_t place) { return grams_.at(place).term; }

  // The same, but a word or gram without a term gets the next id. There must be room; old and new ones take the same
  // path without a branch.
  uint32_t give_word(uint32_t word) {
    of_word_[word] = given(of_word_[word] - 1, word) + 1;
    return of_word_[word] - 1;
  }
  uint32_t give_gram(size_t place) {
    PairTable::Slot& slot = grams_.at(place);
    return slot.term = given(slot.term, slot.entry | kGram);
  }

  // Add the terms of a vocabulary at the next ids. `order` is a permutation of them: earlier ones get the slot that is
  // probed first.
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
    // a stop word already has a slot: as a term it keeps its id, but no text contains it
    words_->each_token(ordered, [&](const Token& token, size_t i) { words_->settle(token, first + order[i]); });
  }

  // The sizes when a copy was made; later entries were added separately.
  struct Known {
    uint32_t words, grams, terms;
  };
  Known known() const { return {words_->size(), grams_.size(), size()}; }

  // Remove all that was added since `known`, words included; needs no memory.
  void truncate(const Known& known) {
    words_->truncate(known.words);
    if (plain()) return;
    for (size_t word = 0; word < of_word_.size(); ++word)
      if (word >= known.words || of_word_[word] > known.terms) of_word_[word] = 0;
    grams_.truncate(known.grams);
    size_ = std::min(known.terms, size_);
    for (uint32_t t = 0; t < size_; ++t)
      if (items_[t] & kGram) grams_.at(grams_.find(grams_[items_[t] & ~kGram])).term = t;
  }

  // Map the terms that a copy, which counted later documents, has added since `known` to ids here; new terms get the
  // next ids.
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

  // No pair is 0, because 0 marks a free slot.
  static uint64_t pair_of(uint32_t prefix, uint32_t word) { return static_cast<uint64_t>(prefix) << 32 | (word + 1); }
  static uint32_t prefix_of(uint64_t pair) { return static_cast<uint32_t>(pair >> 32); }
  static uint32_t word_of(uint64_t pair) { return static_cast<uint32_t>(pair) - 1; }

  // The entries of the words of a term of at most two; the second is kNone if there is only one.
  std::pair<uint32_t, uint32_t> words_of(uint32_t term) const {
    const uint32_t item = items_[term];
    if (!(item & kGram)) return {item, kNone};
    const uint64_t pair = grams_[item & ~kGram];
    return {prefix_of(pair), word_of(pair)};
  }

  // The concatenated text of all terms, and the end of each, starting with a 0.
  void write(Array<uint8_t>& bytes, Array<int64_t>& ends) const {
    ends = Array<int64_t>(size() + 1);
    bytes = Array<uint8_t>(words_->total_bytes() + 1);
    size_t used = 0;
    std::vector<uint32_t> words;
    for (uint32_t t = 0; t < size(); ++t) {
      used = write_item(plain() ? t + stops_ : items_[t], words, bytes, used);
      ends[t + 1] = static_cast<int64_t>(used);
    }
    bytes.resize(used);
  }

 private:
  // Write an n-gram as its words with spaces between them; `words` is a buffer. The words of a given vocabulary's term
  // may be hundreds of thousands, too many for a recursion.
  size_t write_item(uint32_t item, std::vector<uint32_t>& words, Array<uint8_t>& bytes, size_t used) const {
    words.clear();
    for (; item & kGram; item = prefix_of(grams_[item & ~kGram])) words.push_back(word_of(grams_[item & ~kGram]));
    used = write_word(item, bytes, used);
    for (size_t i = words.size(); i-- > 0;) {
      bytes[used++] = ' ';
      used = write_word(words[i], bytes, used);
    }
    return used;
  }

  // Write a word and make room for a space after it.
  size_t write_word(uint32_t entry, Array<uint8_t>& bytes, size_t used) const {
    const Bytes word = (*words_)[entry];
    bytes.make_room(used + word.size + WordTable::kSlack);
    if (word.size <= WordTable::kSlack) {
      std::memcpy(bytes.data() + used, word.data, WordTable::kSlack);  // a constant size is faster than the exact one
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

  // Add a term; its words are joined by spaces, which no word contains.
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

  // The slots here of the grams that a copy has added, given the entries of its words; a prefix always precedes the
  // grams that extend it.
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
      // a prefix in the same batch has no slot yet; then a wrong slot is prefetched, which does no harm
      for (uint32_t g = from; g < to; ++g) ahead.fetch(PairTable::hash_of_pair(pair_here(g)));
      for (uint32_t g = from; g < to; ++g) places[g] = grams_.insert(pair_here(g));
    }
    return places;
  }

  WordTable* words_;
  uint32_t stops_;
  unsigned shortest_, longest_;
  uint32_t size_ = 0;  // used only if there are n-grams, like the following members
  PairTable grams_;
  Array<uint32_t> of_word_;  // term of each word entry plus 1; 0 for none
  Array<uint32_t> items_;    // item of each term
};

}  // namespace unnaive
