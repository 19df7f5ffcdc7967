// Documents with one class each → sums of their counts by class, without a row for each document: the documents of a
// class are counted one after another, so that one table of cells serves all classes.
#pragma once
#include "_class_cells.h"
#include "_kernel_engine.h"

namespace unnaive {

// Documents in the order of their classes, with the class of each. Those before `head` are a share of every class, so
// that they have most frequent words.
struct ClassedDocuments {
  Documents documents;
  std::vector<int32_t> classes;
  std::vector<size_t> bytes;  // of each class
  size_t head = 0;
};

// Sort documents by class; of the documents of each class, one in `share` comes before all others; none if it is 0.
inline ClassedDocuments in_class_order(const Documents& documents, const int32_t* classes, size_t n_classes,
                                       size_t share) {
  ClassedDocuments sorted;
  std::vector<size_t> size(n_classes), early(n_classes), next_early(n_classes), next(n_classes);
  for (size_t row = 0; row < documents.count; ++row) ++size[static_cast<size_t>(classes[row])];
  for (size_t c = 0; c < n_classes; ++c) {
    early[c] = share ? size[c] / share : 0;
    next_early[c] = sorted.head;
    sorted.head += early[c];
  }
  size_t used = sorted.head;
  for (size_t c = 0; c < n_classes; ++c) {
    next[c] = used;
    used += size[c] - early[c];
  }
  sorted.documents.count = documents.count;
  sorted.documents.strings.resize(documents.count);
  sorted.classes.resize(documents.count);
  sorted.bytes.resize(n_classes);
  for (size_t row = 0; row < documents.count; ++row) {
    const auto c = static_cast<size_t>(classes[row]);
    const bool is_early = early[c] > 0;
    early[c] -= is_early;
    const size_t place = is_early ? next_early[c]++ : next[c]++;
    sorted.documents.strings[place] = documents.at(row);
    sorted.classes[place] = classes[row];
    sorted.bytes[c] += size_of(documents, row);
  }
  return sorted;
}

// The sums of the documents of a class that one thread has read one after another.
struct ClassPart {
  unsigned thread;
  size_t from, to;  // its cells in the thread's list
};

// The cells of a class while a thread counts its documents, and the list of all nonzero cells of classes before.
class CellCollector {
 public:
  bool is_open(int32_t label) const { return label == class_; }
  int32_t open_class() const { return class_; }

  // Start a class; with `few`, its terms are listed, instead of looking through all cells at the end.
  void open(int32_t label, bool few) {
    class_ = label;
    few_ = few;
  }

  void add(RowCounter& row, size_t terms) {
    cells_.make_room(terms);
    uint64_t* const cells = cells_.data();
    if (!few_) return row.take([=](uint32_t id, int32_t count) { cells[id] += cell_of(count); });
    touched_.make_room(n_touched_ + row.size() + 1);
    row.take([&](uint32_t id, int32_t count) {
      touched_[n_touched_] = id;
      n_touched_ += cells[id] == 0;
      cells[id] += cell_of(count);
    });
  }

  // List the nonzero cells of the class and clear them; return the range of the list.
  std::pair<size_t, size_t> close() {
    const size_t from = used_;
    few_ ? list_touched() : list_all();
    n_touched_ = 0;
    class_ = -1;
    return {from, used_};
  }

  const uint32_t* ids() const { return ids_.data(); }
  const uint64_t* values() const { return values_.data(); }

 private:
  static constexpr size_t kGroup = 8;

  void make_room(size_t more) {
    ids_.make_room(used_ + more);
    values_.make_room(used_ + more);
  }

  void list_touched() {
    make_room(n_touched_);
    for (size_t i = 0; i < n_touched_; ++i, ++used_) {
      ids_[used_] = touched_[i];
      values_[used_] = std::exchange(cells_[touched_[i]], 0);
    }
  }

  // Every cell of a group with a nonzero cell is written, and kept only if it is not zero itself.
  void list_all() {
    const size_t size = cells_.size();
    make_room(size + kGroup);
    for (size_t first = 0; first < size; first += kGroup) {
      const size_t end = std::min(size, first + kGroup);
      uint64_t some = 0;
      for (size_t id = first; id < end; ++id) some |= cells_[id];
      if (!some) continue;
      for (size_t id = first; id < end; ++id) {
        const uint64_t cell = std::exchange(cells_[id], 0);
        ids_[used_] = static_cast<uint32_t>(id);
        values_[used_] = cell;
        used_ += cell != 0;
      }
    }
  }

  int32_t class_ = -1;
  bool few_ = false;
  Array<uint64_t> cells_;
  Array<uint32_t> touched_;
  size_t n_touched_ = 0;
  Array<uint32_t> ids_;
  Array<uint64_t> values_;
  size_t used_ = 0;
};

// The nonzero sums of each class, terms in the order of their bytes, and those of the corpus.
struct TextSums {
  Array<int64_t> ends;  // of the cells of each class; the first is 0
  Array<int32_t> terms;
  Array<int64_t> sums, df;
  Array<int64_t> corpus_sums, corpus_df;
  Array<uint8_t> bytes;      // of the terms,
  Array<int64_t> term_ends;  // and the end of each
  Array<int64_t> place;      // the place of each of the engine's terms; empty if they are in order

  void make_room(size_t cells) {
    terms = Array<int32_t>::unset(cells);
    sums = Array<int64_t>::unset(cells);
    df = Array<int64_t>::unset(cells);
  }
};

// A cell with the place of its term among the sorted terms.
struct PlacedCell {
  size_t place;
  uint64_t value;
};

// Sorts the cells of one class after another by their places.
class CellSorter {
 public:
  explicit CellSorter(size_t terms) : terms_(terms) {}

  // Write the sums of the cells from `start` on, where a place may occur several times; return their number.
  size_t sort(std::vector<PlacedCell>& cells, size_t start, TextSums& all) {
    size_t at = start;
    const auto put = [&](size_t place, uint64_t value) {
      all.terms[at] = static_cast<int32_t>(place);
      all.sums[at] = sum_of(value);
      all.df[at] = df_of(value);
      ++at;
    };
    64 * cells.size() < terms_ ? sort_few(cells, put) : sort_many(cells, put);
    return at - start;
  }

 private:
  template <class Put>
  static void sort_few(std::vector<PlacedCell>& cells, Put&& put) {
    std::sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
    for (size_t i = 0; i < cells.size();) {
      const size_t place = cells[i].place;
      uint64_t value = 0;
      for (; i < cells.size() && cells[i].place == place; ++i) value += cells[i].value;
      put(place, value);
    }
  }

  // By a table of all terms with a bit for every nonzero cell.
  template <class Put>
  void sort_many(const std::vector<PlacedCell>& cells, Put&& put) {
    if (!values_.size()) {
      values_ = Array<uint64_t>(terms_);
      used_ = Array<uint64_t>(terms_ / 64 + 1);
    }
    for (const PlacedCell& cell : cells) {
      used_[cell.place / 64] |= uint64_t{1} << cell.place % 64;
      values_[cell.place] += cell.value;
    }
    for (size_t group = 0; group < used_.size(); ++group)
      for (uint64_t bits = std::exchange(used_[group], 0); bits; bits &= bits - 1) {
        const size_t place = 64 * group + static_cast<size_t>(__builtin_ctzll(bits));
        put(place, std::exchange(values_[place], 0));
      }
  }

  size_t terms_;
  Array<uint64_t> values_, used_;
};

// Move the cells of each class to the end of those before it.
inline void close_gaps(const std::vector<size_t>& starts, const std::vector<size_t>& sizes, TextSums& all) {
  all.ends = Array<int64_t>(starts.size());
  size_t used = 0;
  for (size_t c = 0; c < sizes.size(); ++c) {
    const auto move = [&](auto* cells) {
      if (used < starts[c]) std::memmove(cells + used, cells + starts[c], sizes[c] * sizeof(*cells));
    };
    move(all.terms.data());
    move(all.sums.data());
    move(all.df.data());
    used += sizes[c];
    all.ends[c + 1] = static_cast<int64_t>(used);
  }
  all.terms.resize(used);
  all.sums.resize(used);
  all.df.resize(used);
}

// Sum the cells of all classes: every document has one.
inline void add_corpus(size_t n_terms, TextSums& all) {
  all.corpus_sums = Array<int64_t>(n_terms);
  all.corpus_df = Array<int64_t>(n_terms);
  for (size_t i = 0; i < all.terms.size(); ++i) {
    all.corpus_sums[static_cast<size_t>(all.terms[i])] += all.sums[i];
    all.corpus_df[static_cast<size_t>(all.terms[i])] += all.df[i];
  }
}

// Whether no sum of the documents can overflow a cell: a word of a record may be two words, and begin n-grams of every
// length.
inline bool sums_fit(const Documents& documents, unsigned longest) {
  return total_size(documents) < (size_t{1} << 31) / (2 * longest);
}

// Sum documents by class; if this fails, no term was added.
inline TextSums Engine::sum_classes(const Documents& documents, const int32_t* classes, size_t n_classes,
                                    const Threads& threads, const std::function<void()>& listen) {
  const Terms::Known known = terms_.known();
  try {
    const unsigned n = threads.shards(documents);
    const size_t share = n > 1 && learns(true) ? total_size(documents) / kHead + 16 : 0;
    const ClassedDocuments sorted = in_class_order(documents, classes, n_classes, share);
    std::vector<CellCollector> collectors(n);
    std::vector<std::vector<std::pair<int32_t, ClassPart>>> parts(n);
    const auto close = [&](unsigned s) {
      const int32_t label = collectors[s].open_class();
      if (label < 0) return;
      const auto [from, to] = collectors[s].close();
      parts[s].push_back({label, {s, from, to}});
    };
    const auto take = [&](unsigned s, size_t row, RowCounter& counter, const Terms& terms) {
      const int32_t label = sorted.classes[row];
      if (!collectors[s].is_open(label)) {
        close(s);
        collectors[s].open(label, 16 * likely_cells(sorted.bytes[static_cast<size_t>(label)], terms) < terms.size());
      }
      collectors[s].add(counter, terms.size());
    };
    const Shared shared = read_all(sorted.documents, true, n, sorted.head, listen, [](unsigned, size_t) {}, take);
    std::vector<std::vector<ClassPart>> of_class(n_classes);
    for (unsigned s = 0; s < n; ++s) {
      close(s);
      for (const auto& [label, part] : parts[s]) of_class[static_cast<size_t>(label)].push_back(part);
    }
    return sums_in_order(shared, collectors, of_class, n);
  } catch (...) {
    terms_.truncate(known);
    throw;
  }
}

// Append the cells of a class with the engine's ids; `place` has the place of each id, or is empty.
inline void Engine::join_cells(const Shared& shared, const std::vector<CellCollector>& collectors,
                               const std::vector<ClassPart>& parts, const Array<int64_t>& place,
                               std::vector<PlacedCell>& cells) const {
  for (const ClassPart& part : parts) {
    const OwnTerms& own = shared.own[part.thread];
    const uint32_t* const ids = collectors[part.thread].ids();
    const uint64_t* const values = collectors[part.thread].values();
    for (size_t i = part.from; i < part.to; ++i) {
      const size_t id = own.terms && ids[i] >= shared.known ? own.ids[ids[i] - shared.known] : ids[i];
      cells.push_back({place.size() ? static_cast<size_t>(place[id]) : id, values[i]});
    }
  }
}

// Sort the terms, and the cells of every class by their terms.
inline TextSums Engine::sums_in_order(const Shared& shared, const std::vector<CellCollector>& collectors,
                                      const std::vector<std::vector<ClassPart>>& of_class, unsigned threads) const {
  TextSums all;
  Array<uint8_t> bytes;
  Array<int64_t> ends;
  if (!terms_.plain()) terms_.write(bytes, ends);
  const size_t n_terms = terms_.size(), n_classes = of_class.size();
  const TermList list = terms_.plain() ? TermList{words_.bytes(), words_.ends() + terms_.stops(), n_terms}
                                       : TermList{bytes.data(), ends.data(), n_terms};
  const Array<int64_t> order = order_of_terms(list);
  all.place = Array<int64_t>(order.size());
  for (size_t i = 0; i < order.size(); ++i) all.place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  std::vector<size_t> starts(n_classes + 1), sizes(n_classes);
  for (size_t c = 0; c < n_classes; ++c) {
    starts[c + 1] = starts[c];
    for (const ClassPart& part : of_class[c]) starts[c + 1] += part.to - part.from;
  }
  all.make_room(starts[n_classes]);
  // the first job is to write the terms in order
  std::atomic<size_t> next{0};
  on_threads(static_cast<unsigned>(std::min<size_t>(threads, n_classes + 1)), [&](unsigned) {
    CellSorter sorter(n_terms);
    std::vector<PlacedCell> cells;
    for (size_t job = next++; job <= n_classes; job = next++) {
      if (job == 0) {
        if (order.size()) take_terms(list, order.data(), n_terms, all.bytes, all.term_ends);
        continue;
      }
      const size_t c = job - 1;
      cells.clear();
      join_cells(shared, collectors, of_class[c], all.place, cells);
      sizes[c] = sorter.sort(cells, starts[c], all);
    }
  });
  if (!order.size()) terms_.write(all.bytes, all.term_ends);
  close_gaps(starts, sizes, all);
  add_corpus(n_terms, all);
  return all;
}

}  // namespace unnaive
