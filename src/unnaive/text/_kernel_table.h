// Open-addressing hash tables: words by their bytes, always compared exactly, and n-grams by a pair of ids.
#pragma once
#include <stdexcept>
#include <vector>

#include "_kernel_memory.h"
#include "_kernel_token.h"

namespace unnaive {

// The address of a table's slots, for prefetching the slot of a word when its hash is known.
struct Ahead {
  const uint8_t* slots;
  unsigned shift;

  void fetch(uint64_t hash) const { __builtin_prefetch(slots + (hash >> shift << 4)); }
};

// A power of two of slots, at least kHalves / 2 for each used one; free slots are all zero. The top bits of the hash
// are the index of the first probe.
template <class Slot, unsigned kHalves>
class Slots {
 public:
  Slots() { allocate(8); }
  // A copy with slots for at least `used` entries.
  Slots(const Slots& other, size_t used) {
    allocate(8);
    reserve(used);
    for (size_t i = 0; i < other.slots_.size(); ++i)
      if (!other.slots_[i].is_free()) place(other.slots_[i]);
  }
  size_t begin(uint64_t hash) const { return hash >> shift_; }
  size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
  size_t size() const { return slots_.size(); }
  Slot& operator[](size_t i) { return slots_[i]; }
  const Slot& operator[](size_t i) const { return slots_[i]; }
  Ahead ahead() const {
    static_assert(sizeof(Slot) == 16, "a slot is a quarter of a cache line");
    return {reinterpret_cast<const uint8_t*>(slots_.data()), shift_};
  }

  // Grow to slots for at least this many entries; return whether they have moved. Without memory nothing changes.
  bool reserve(size_t used) {
    unsigned bits = 64 - shift_;
    while ((size_t{2} << bits) < kHalves * used) ++bits;
    if (bits == 64 - shift_) return false;
    Array<Slot> old(size_t{1} << bits);
    old.swap(slots_);
    shift_ = 64 - bits;
    for (size_t i = 0; i < old.size(); ++i)
      if (!old[i].is_free()) place(old[i]);
    return true;
  }

  void clear() { std::memset(static_cast<void*>(slots_.data()), 0, slots_.size() * sizeof(Slot)); }

  void place(const Slot& slot) {
    size_t i = begin(slot.hash());
    while (!slots_[i].is_free()) i = next(i);
    slots_[i] = slot;
  }

 private:
  void allocate(unsigned bits) {
    slots_ = Array<Slot>(size_t{1} << bits);
    shift_ = 64 - bits;
  }
  Array<Slot> slots_;
  unsigned shift_ = 0;
};

// Equality of bytes, 8 at a time; the last 8 may overlap the previous ones.
inline bool same_bytes(const uint8_t* a, const uint8_t* b, size_t length) {
  if (length < 8) return std::memcmp(a, b, length) == 0;
  for (size_t i = 0; i + 8 < length; i += 8)
    if (load8(a + i) != load8(b + i)) return false;
  return load8(a + length - 8) == load8(b + length - 8);
}

// Words in order of insertion, with their bytes concatenated.
class WordTable {
 public:
  static constexpr size_t kSlack = 16;  // bytes that are readable from the start of any word

  WordTable() { ends_.make_room(1); }
  // A copy with slots for at least `words` words.
  WordTable(const WordTable& other, size_t words)
      : slots_(other.slots_, std::max<size_t>(words, other.size_)),
        bytes_(other.bytes_),
        ends_(other.ends_),
        size_(other.size_) {}
  uint32_t size() const { return size_; }
  Bytes operator[](uint32_t entry) const {
    return {bytes_.data() + ends_[entry], static_cast<size_t>(ends_[entry + 1] - ends_[entry])};
  }
  const uint8_t* bytes() const { return bytes_.data(); }
  const int64_t* ends() const { return ends_.data(); }  // of the words; the first is 0
  size_t total_bytes() const { return static_cast<size_t>(ends_[size_]); }

  Ahead ahead() const { return slots_.ahead(); }
  void reserve(size_t words) { slots_.reserve(words); }

  uint32_t find(const Token& token) const {
    const size_t first = slots_.begin(token.hash);
    if (__builtin_expect(is_at(first, token), 1)) return slots_[first].entry;
    const Slot& slot = slots_[search(token)];
    return slot.is_free() ? kNone : slot.entry;
  }

  uint32_t insert(const Token& token) {
    const size_t first = slots_.begin(token.hash);
    return __builtin_expect(is_at(first, token), 1) ? slots_[first].entry : search_or_add(token);
  }

  uint32_t insert(Bytes word) { return insert(token_of(word)); }

  // Call use(token, i) for each word in order; its slot has been prefetched.
  template <class Use>
  void each_token(const std::vector<Bytes>& words, Use&& use) const {
    Token batch[kBatch];
    for (size_t from = 0; from < words.size(); from += kBatch) {
      const size_t n = std::min<size_t>(kBatch, words.size() - from);
      const Ahead ahead = this->ahead();
      for (size_t i = 0; i < n; ++i) {
        batch[i] = token_of(words[from + i]);
        ahead.fetch(batch[i].hash);
      }
      for (size_t i = 0; i < n; ++i) use(static_cast<const Token&>(batch[i]), from + i);
    }
  }
  uint32_t find(Bytes word) const { return find(token_of(word)); }

  // Insert the words of another table from its entry `first` on, in order; return the entry of each.
  std::vector<uint32_t> merge(const WordTable& other, uint32_t first = 0) {
    std::vector<uint32_t> entries(other.size() - first);
    slots_.reserve(size() + entries.size() / 2);
    Token batch[kBatch];
    for (uint32_t from = first; from < other.size(); from += kBatch) {
      const uint32_t n = std::min<uint32_t>(kBatch, other.size() - from);
      const Ahead ahead = this->ahead();
      for (uint32_t i = 0; i < n; ++i) {
        const Bytes word = other[from + i];
        batch[i] = token_in(word.data, static_cast<uint32_t>(word.size));
        ahead.fetch(batch[i].hash);
      }
      for (uint32_t i = 0; i < n; ++i) entries[from - first + i] = insert(batch[i]);
    }
    return entries;
  }

  // Give an entry a slot, unless its word has one already.
  void settle(const Token& token, uint32_t entry) {
    Slot& slot = slots_[search(token)];
    if (slot.is_free()) slot = Slot::of(token, entry);
  }

  // Remove all entries but the first n; needs no memory.
  void truncate(uint32_t n) {
    if (n >= size_) return;
    size_ = n;
    slots_.clear();
    for (uint32_t entry = 0; entry < n; ++entry) settle(token_of((*this)[entry]), entry);
  }

  // Append an entry without a slot; look-ups do not find it, but later entries keep their ids.
  uint32_t append(Bytes word) {
    if (size_ >= 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct words");
    const int64_t start = ends_[size_];
    bytes_.make_room(static_cast<size_t>(start) + word.size + kSlack);
    if (word.size) std::memcpy(bytes_.data() + start, word.data, word.size);
    ends_.make_room(size_ + 2);
    ends_[size_ + 1] = start + static_cast<int64_t>(word.size);
    return size_++;
  }

 private:
  // The key of a short word is the word itself; that of a long word is its hash, after a first byte that no word has.
  struct Slot {
    uint64_t low;
    uint32_t high, entry;

    static constexpr uint8_t kHashed = 1;
    bool is_free() const { return low == 0; }
    bool is_hashed() const { return static_cast<uint8_t>(low) == kHashed; }
    uint64_t hash() const {
      return is_hashed() ? low >> 8 | static_cast<uint64_t>(high) << 32 : hash_of_key(low, high);
    }
    static Slot of(const Token& token, uint32_t entry) {
      if (!token.is_long()) return {token.low, token.high, entry};
      return {token.hash << 8 | kHashed, static_cast<uint32_t>(token.hash >> 32), entry};
    }
  };

  bool is_at(size_t i, const Token& token) const { return slots_[i].low == token.low && slots_[i].high == token.high; }

  // The slot of a word that is not in its first slot, because it was displaced or is long; otherwise the free slot
  // where a new word belongs.
  __attribute__((noinline)) size_t search(const Token& token) const {
    const Slot wanted = Slot::of(token, 0);
    size_t i = slots_.begin(token.hash);
    for (; !slots_[i].is_free(); i = slots_.next(i)) {
      const Slot& slot = slots_[i];
      if (slot.low == wanted.low && slot.high == wanted.high && (!token.is_long() || same(slot.entry, token))) break;
    }
    return i;
  }

  __attribute__((noinline)) uint32_t search_or_add(const Token& token) {
    size_t i = search(token);
    if (!slots_[i].is_free()) return slots_[i].entry;
    if (slots_.reserve(size_ + 2)) i = search(token);
    const uint32_t entry = append({token.text, token.length});  // the last that may fail
    slots_[i] = Slot::of(token, entry);
    return entry;
  }

  bool same(uint32_t entry, const Token& token) const {
    const Bytes word = (*this)[entry];
    return word.size == token.length && same_bytes(word.data, token.text, token.length);
  }

  Slots<Slot, 4> slots_;
  Array<uint8_t> bytes_;
  Array<int64_t> ends_;
  uint32_t size_ = 0;
};

// (prefix, word) → entry in order of insertion, and the entry's term. The key is the pair itself, so equality is exact;
// no pair is 0.
class PairTable {
 public:
  struct Slot {
    uint64_t pair;
    uint32_t entry, term;

    bool is_free() const { return pair == 0; }
    uint64_t hash() const { return hash_of_pair(pair); }
  };

  static uint64_t hash_of_pair(uint64_t pair) { return hash_of_key(pair, 0); }

  uint32_t size() const { return size_; }
  uint64_t operator[](uint32_t entry) const { return pairs_[entry]; }
  Ahead ahead() const { return slots_.ahead(); }
  Slot& at(size_t place) { return slots_[place]; }

  void reserve(size_t pairs) { slots_.reserve(pairs); }

  // Make room for this many more pairs: slots do not move while they are inserted.
  void make_room(size_t more) {
    if (size_ + more > 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct n-grams");
    slots_.reserve(size_ + more);
    pairs_.make_room(size_ + more + 1);
  }

  // Remove all pairs but the first n, and the terms of the others; needs no memory.
  void truncate(uint32_t n) {
    size_ = std::min(n, size_);
    slots_.clear();
    for (uint32_t entry = 0; entry < size_; ++entry) slots_.place({pairs_[entry], entry, kNone});
  }

  static constexpr size_t kNowhere = ~size_t{0};

  size_t find(uint64_t pair) const {
    for (size_t i = slots_.begin(hash_of_pair(pair));; i = slots_.next(i)) {
      if (slots_[i].pair == pair) return i;
      if (slots_[i].is_free()) return kNowhere;
    }
  }

  // Call use(pair, term) for all pairs with a term, in no particular order.
  template <class Use>
  void each_term(Use&& use) const {
    for (size_t i = 0; i < slots_.size(); ++i)
      if (!slots_[i].is_free() && slots_[i].term != kNone) use(slots_[i].pair, slots_[i].term);
  }

  // Find or insert a pair and return its slot; there must be room. Whether a pair is new is unpredictable, so both
  // cases take the same path without a branch.
  size_t insert(uint64_t pair) {
    size_t i = slots_.begin(hash_of_pair(pair));
    while ((slots_[i].pair != pair) & !slots_[i].is_free()) i = slots_.next(i);
    const bool fresh = slots_[i].is_free();
    Slot& slot = slots_[i];
    pairs_[size_] = slot.pair = pair;
    slot.entry = fresh ? size_ : slot.entry;
    slot.term = fresh ? kNone : slot.term;
    size_ += fresh;
    return i;
  }

 private:
  Slots<Slot, 3> slots_;  // a higher load than for words, because n-grams are many and their table dominates memory
  Array<uint64_t> pairs_;
  uint32_t size_ = 0;
};

}  // namespace unnaive
