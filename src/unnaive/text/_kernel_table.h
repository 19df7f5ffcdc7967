// Open addressing tables: words by their bytes, always compared exactly, and n-grams by a pair of ids.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "_kernel_scan.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace unnaive {

constexpr size_t kHugePage = size_t{2} << 20;

// An array without initial values; large ones ask for huge pages, since look-ups are what costs.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(size_t size) : size_(size) {
    const size_t bytes = size * sizeof(T);
    if (bytes >= kHugePage) {
      data_ = static_cast<T*>(std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage));
#if defined(__linux__)
      if (data_) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    } else {
      data_ = static_cast<T*>(std::malloc(bytes ? bytes : 1));
    }
    if (!data_) throw std::bad_alloc();
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() { std::free(data_); }

  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T* release() {
    T* data = data_;
    data_ = nullptr;
    size_ = 0;
    return data;
  }

 private:
  void swap(Array& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  T* data_ = nullptr;
  size_t size_ = 0;
};

// Power-of-two slots at most half full; the top bits of the hash say where to begin.
template <class Slot>
class Slots {
 public:
  Slots() { allocate(10); }
  size_t begin(uint64_t hash) const { return hash >> shift_; }
  size_t next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
  Slot& operator[](size_t i) { return slots_[i]; }
  const Slot& operator[](size_t i) const { return slots_[i]; }
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash >> shift_]); }
  Ahead ahead() const {
    static_assert(sizeof(Slot) == 16, "a slot is a quarter of a cache line");
    return {reinterpret_cast<const uint8_t*>(slots_.data()), shift_, 4};
  }

  // Room for this many from the start: then those that come first, the frequent ones, find their own slot free.
  void reserve(size_t used) {
    unsigned bits = 64 - shift_;
    while ((size_t{1} << bits) < 2 * (used + 1)) ++bits;
    allocate(bits);
  }
  bool crowded(size_t used) const { return 2 * (used + 1) > slots_.size(); }

  // Doubles the room; hash(slot) tells where each goes.
  template <class Hash>
  void enlarge(Hash&& hash) {
    Array<Slot> old = std::move(slots_);
    slots_ = Array<Slot>();
    allocate(64 - shift_ + 1);
    for (size_t i = 0; i < old.size(); ++i) {
      if (old[i].entry != kNone) place(old[i], hash(old[i]));
    }
  }

  void place(const Slot& slot, uint64_t hash) {
    size_t i = begin(hash);
    while (slots_[i].entry != kNone) i = next(i);
    slots_[i] = slot;
  }

 private:
  void allocate(unsigned bits) {
    slots_ = Array<Slot>(size_t{1} << bits);
    shift_ = 64 - bits;
    std::memset(static_cast<void*>(slots_.data()), 0xFF, slots_.size() * sizeof(Slot));
  }
  Array<Slot> slots_;
  unsigned shift_ = 0;
};

// Equality of more than 8 bytes, 8 at a time; the last 8 may overlap those before.
inline bool same_bytes(const uint8_t* a, const uint8_t* b, size_t length) {
  for (size_t i = 0; i + 8 < length; i += 8)
    if (load8(a + i) != load8(b + i)) return false;
  return load8(a + length - 8) == load8(b + length - 8);
}

// Words in the order they came; their bytes one after another.
class WordTable {
 public:
  uint32_t size() const { return static_cast<uint32_t>(ends_.size() - 1); }
  Bytes operator[](uint32_t entry) const {
    return {bytes_.data() + ends_[entry], static_cast<size_t>(ends_[entry + 1] - ends_[entry])};
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  const std::vector<uint64_t>& ends() const { return ends_; }

  Ahead ahead() const { return slots_.ahead(); }

  // Only while there are no words.
  void reserve(size_t words) { slots_.reserve(words); }

  uint32_t find(const Token& token) const {
    for (size_t i = slots_.begin(token.hash);; i = slots_.next(i)) {
      const Slot& slot = slots_[i];
      if (slot.key == token.key && slot.length == token.length && same(slot.entry, token)) return slot.entry;
      if (slot.entry == kNone) return kNone;
    }
  }

  uint32_t insert(const Token& token) {
    const uint32_t found = find(token);
    if (found != kNone) return found;
    if (slots_.crowded(size())) slots_.enlarge([](const Slot& slot) { return hash_of(slot); });
    const auto* text = token.length <= 8 ? reinterpret_cast<const uint8_t*>(&token.key) : token.text;
    const uint32_t entry = append({text, token.length});
    slots_.place({token.key, token.length, entry}, token.hash);
    return entry;
  }

  uint32_t insert(Bytes word) { return insert(token_of(word)); }
  uint32_t find(Bytes word) const { return find(token_of(word)); }

  // Inserts the words of another table in their order; gives the entry of each.
  std::vector<uint32_t> merge(const WordTable& other) {
    std::vector<uint32_t> entries(other.size());
    Token batch[kBatch];
    for (uint32_t from = 0; from < other.size(); from += kBatch) {
      const uint32_t n = std::min<uint32_t>(kBatch, other.size() - from);
      for (uint32_t i = 0; i < n; ++i) slots_.prefetch((batch[i] = token_of(other[from + i])).hash);
      for (uint32_t i = 0; i < n; ++i) entries[from + i] = insert(batch[i]);
    }
    return entries;
  }

  // An entry that no token finds, to keep the ids of those after it.
  uint32_t append(Bytes word) {
    if (size() >= 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct words");
    bytes_.insert(bytes_.end(), word.data, word.data + word.size);
    ends_.push_back(bytes_.size());
    return size() - 1;
  }

 private:
  struct Slot {
    uint64_t key;
    uint32_t length, entry;
  };

  static uint64_t hash_of(const Slot& slot) { return slot.length <= 8 ? hash_of_key(slot.key) : slot.key; }

  bool same(uint32_t entry, const Token& token) const {
    return token.length <= 8 || same_bytes(bytes_.data() + ends_[entry], token.text, token.length);
  }

  Slots<Slot> slots_;
  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> ends_{0};
};

// (prefix, word) → id, in the order they came; the key is the pair itself, so equality is exact.
class PairTable {
 public:
  uint32_t size() const { return static_cast<uint32_t>(pairs_.size()); }
  uint64_t operator[](uint32_t entry) const { return pairs_[entry]; }
  void prefetch(uint64_t pair) const { slots_.prefetch(hash_of_key(pair)); }

  uint32_t find(uint64_t pair) const {
    for (size_t i = slots_.begin(hash_of_key(pair));; i = slots_.next(i)) {
      const Slot& slot = slots_[i];
      if (slot.entry == kNone) return kNone;
      if (slot.pair == pair) return slot.entry;
    }
  }

  uint32_t insert(uint64_t pair) {
    const uint32_t found = find(pair);
    if (found != kNone) return found;
    if (size() >= 0x7FFFFFFEu) throw std::length_error("there are more than 2 billion distinct n-grams");
    if (slots_.crowded(size())) slots_.enlarge([](const Slot& slot) { return hash_of_key(slot.pair); });
    pairs_.push_back(pair);
    slots_.place({pair, size() - 1, 0}, hash_of_key(pair));
    return size() - 1;
  }

 private:
  struct Slot {
    uint64_t pair;
    uint32_t entry, unused;
  };

  Slots<Slot> slots_;
  std::vector<uint64_t> pairs_;
};

}  // namespace unnaive
