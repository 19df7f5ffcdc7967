// What a thread needs to read and count documents, reused from call to call, and rows of counts.
#pragma once
#include <memory>

#include "_kernel_message.h"
#include "_kernel_terms.h"

namespace unnaive {

struct Cell {
  uint32_t item, count;
};

// Cells one after another in chunks that are freed as they are read again, so that rows are never held twice.
class Cells {
 public:
  void push(const std::vector<Cell>& row) {
    for (size_t done = 0; done < row.size();) {
      if (chunks_.empty() || used_ == chunks_.back().size()) {
        chunks_.emplace_back(chunks_.empty() ? kFirst : kChunk);
        used_ = 0;
      }
      const size_t n = std::min(row.size() - done, chunks_.back().size() - used_);
      std::memcpy(static_cast<void*>(&chunks_.back()[used_]), &row[done], n * sizeof(Cell));
      done += n;
      used_ += n;
    }
    size_ += row.size();
  }

  Cell pop_front() {
    if (read_ == chunks_[chunk_].size()) {
      chunks_[chunk_++] = Array<Cell>();
      read_ = 0;
    }
    return chunks_[chunk_][read_++];
  }

  size_t size() const { return size_; }

 private:
  static constexpr size_t kFirst = 1024, kChunk = kHugePage / sizeof(Cell);
  std::vector<Array<Cell>> chunks_;
  size_t used_ = 0, size_ = 0, chunk_ = 0, read_ = 0;
};

// Sorts n numbers by the digits above the low 32 bits, of which `bits` matter; `space` is scratch.
inline void sort_by_term(std::vector<uint64_t>& cells, std::vector<uint64_t>& space, unsigned bits) {
  const size_t n = cells.size();
  if (n <= 24) {
    for (size_t i = 1; i < n; ++i) {
      const uint64_t cell = cells[i];
      size_t j = i;
      for (; j > 0 && cells[j - 1] > cell; --j) cells[j] = cells[j - 1];
      cells[j] = cell;
    }
    return;
  }
  if (space.size() < n) space.resize(n);
  uint64_t *from = cells.data(), *to = space.data();
  for (unsigned shift = 32; shift < 32 + bits; shift += 8) {
    uint32_t place[256] = {};
    for (size_t i = 0; i < n; ++i) ++place[from[i] >> shift & 0xFF];
    uint32_t sum = 0;
    for (uint32_t& at : place) {
      const uint32_t count = at;
      at = sum;
      sum += count;
    }
    for (size_t i = 0; i < n; ++i) to[place[from[i] >> shift & 0xFF]++] = from[i];
    std::swap(from, to);
  }
  if (from != cells.data()) std::memcpy(cells.data(), from, n * sizeof(uint64_t));
}

// Whether an entry was met in this document, and where its cell is.
struct Stamp {
  uint32_t document = 0, place = 0;
};

struct Settings {
  Rule rule;
  Message message;
};

// The working memory of one thread.
class Scratch {
 public:
  explicit Scratch(const Settings& settings) : settings_(settings), scanner_(settings.rule) {}

  // flush(tokens, n) for every batch of the document's tokens, which are about to be looked up in `table`.
  template <class Flush>
  void read(const Document& document, const WordTable& table, Flush&& flush) {
    scanner_.look_ahead(table.ahead());
    const Bytes text = utf8_of(document, utf8_);
    if (settings_.message == Message::none) {
      scanner_.scan(text, flush);
    } else {
      message_parts(text, settings_.message, parts_);
      for (const Bytes& part : parts_) scanner_.scan(part, flush);
    }
    scanner_.finish(flush);
  }

  void start_document() {
    row.clear();
    if (++document_ == 0) {  // after 4 billion documents all stamps are void
      std::fill(words_.begin(), words_.end(), Stamp{});
      std::fill(grams_.begin(), grams_.end(), Stamp{});
      document_ = 1;
    }
    std::fill(previous, previous + kLongest, kNone);
  }

  void make_room(const Terms& terms) {
    if (words_.size() < terms.words().size()) words_.resize(room(terms.words().size()));
    if (grams_.size() < terms.grams().size()) grams_.resize(room(terms.grams().size()));
  }

  // Counts the item if it has a cell in this document already.
  bool again(uint32_t item) {
    const Stamp& stamp = stamp_of(item);
    if (stamp.document != document_) return false;
    ++row[stamp.place].count;
    return true;
  }

  void first(uint32_t item) {
    stamp_of(item) = {document_, static_cast<uint32_t>(row.size())};
    row.push_back({item, 1});
  }

  static constexpr unsigned kLongest = 8;
  std::vector<Cell> row;
  uint32_t previous[kLongest];  // items of the 1-, 2-, … grams that end with the word before
  std::vector<uint64_t> fresh;  // (order in the batch, item) of those without an id
  uint32_t words[kBatch], items[kBatch];
  uint64_t pairs[kBatch];

 private:
  static size_t room(size_t size) { return size + size / 2 + 64; }
  Stamp& stamp_of(uint32_t item) { return item & kGram ? grams_[item & ~kGram] : words_[item]; }

  Settings settings_;
  Scanner scanner_;
  std::vector<uint8_t> utf8_;
  std::vector<Bytes> parts_;
  std::vector<Stamp> words_, grams_;
  uint32_t document_ = 0;
};

}  // namespace unnaive
