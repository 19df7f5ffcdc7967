// The layout of documents for generalised iterative scaling (_products_passes.h; gis.py defines the cells). It is built
// once and read in every iteration. Scores are computed document by document. Expected counts are summed over chunks of
// documents whose posteriors fit in the cache, and term by term inside a chunk, so that the cells of a term are loaded
// and stored once.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "_scratch.h"

constexpr int kCountBits = 12;
constexpr int64_t kPackedPlaces = int64_t{1} << (32 - kCountBits);
constexpr int64_t kEntriesAhead = 12;  // entries between a prefetch and its use
constexpr int64_t kRunsAhead = 4;      // runs between a prefetch and its use
constexpr int64_t kParts = 32;         // parts into which the cells are divided among threads

// An entry of a document whose values are counts, or counts times a scale that the document stores. Count and place are
// packed into four bytes, a quarter of the memory that an iteration reads otherwise.
struct PackedEntry {
  uint32_t bits;

  static PackedEntry of(int64_t place, double count) {
    return {static_cast<uint32_t>(place) << kCountBits | static_cast<uint32_t>(count)};
  }
  int64_t place() const { return bits >> kCountBits; }
  double value() const { return static_cast<int32_t>(bits & ((1u << kCountBits) - 1)); }
};

// An entry of any other document.
struct PlainEntry {
  double amount;
  int64_t where;

  static PlainEntry of(int64_t place, double value) { return {value, place}; }
  int64_t place() const { return where; }
  double value() const { return amount; }
};

// A part of the columns of all documents: a sparse matrix whose columns are the terms of the part.
struct PartMatrix {
  const int64_t* starts;
  const int32_t* terms;
  const double* values;
  int64_t size, n_terms;

  // Call look(term, value) for every entry of document d.
  template <class Look>
  void each(int64_t d, const Look& look) const {
    for (int64_t k = starts[d]; k < starts[d + 1]; ++k) look(terms[k], values[k]);
  }
};

struct Run {
  int32_t term, size;  // size: number of entries of the term in the chunk
};

struct Border {
  int64_t run, entry;
};

// The entries of every chunk, sorted by term; a place is the document's position in the chunk. Part p of chunk i begins
// at borders[i · kParts + p].
template <class Entry>
struct ChunkRuns {
  std::vector<Border> borders;
  unnaive::LongVector<Run> runs;
  unnaive::LongVector<Entry> entries;
};

// The first term of each part; parts have about equally many entries.
inline std::vector<int32_t> part_starts(const PartMatrix& X) {
  std::vector<int64_t> sizes(static_cast<size_t>(X.n_terms));
  for (int64_t k = 0; k < X.starts[X.size]; ++k) ++sizes[X.terms[k]];
  std::vector<int32_t> starts(kParts, static_cast<int32_t>(X.n_terms));
  int64_t before = 0, part = 0;
  for (int64_t term = 0; term < X.n_terms; before += sizes[term++])
    for (; part < kParts && before >= X.starts[X.size] * part / kParts; ++part)
      starts[part] = static_cast<int32_t>(term);
  return starts;
}

template <class Entry>
Entry entry_of(int64_t place, double value, double scale) {
  return Entry::of(place, std::is_same_v<Entry, PackedEntry> ? std::nearbyint(value / scale) : value);
}

// The terms of a part ascend, or are sorted by the size of their runs: the processor then predicts where a run ends,
// which pays if terms have many cells.
template <class Entry>
ChunkRuns<Entry> runs_by_chunk(const PartMatrix& X, int64_t chunk, const unnaive::LongVector<double>& scale,
                               bool by_size) {
  const std::vector<int32_t> parts = part_starts(X);
  ChunkRuns<Entry> out;
  out.entries.resize(static_cast<size_t>(X.starts[X.size] + kEntriesAhead));
  // number of entries of a term, then the position of its next entry
  std::vector<int64_t> next(static_cast<size_t>(X.n_terms));
  std::vector<int32_t> terms;
  Border at{0, 0};
  for (int64_t first = 0; first < X.size; first += chunk) {
    const int64_t last = std::min(first + chunk, X.size);
    terms.clear();
    for (int64_t k = X.starts[first]; k < X.starts[last]; ++k)
      if (next[X.terms[k]]++ == 0) terms.push_back(X.terms[k]);
    std::sort(terms.begin(), terms.end());
    auto begin = terms.begin();
    for (int64_t part = 0; part < kParts; ++part) {
      const auto end = part + 1 < kParts ? std::lower_bound(begin, terms.end(), parts[part + 1]) : terms.end();
      if (by_size) std::stable_sort(begin, end, [&](int32_t a, int32_t b) { return next[a] < next[b]; });
      out.borders.push_back(at);
      for (; begin < end; ++begin) {
        const int64_t size = std::exchange(next[*begin], at.entry);
        out.runs.push_back({*begin, static_cast<int32_t>(size)});
        at = {at.run + 1, at.entry + size};
      }
    }
    for (int64_t d = first; d < last; ++d)
      X.each(d, [&](int32_t term, double value) {
        out.entries[next[term]++] = entry_of<Entry>(d - first, value, scale[d]);
      });
    for (const int32_t term : terms) next[term] = 0;
  }
  out.borders.push_back(at);
  out.runs.resize(out.runs.size() + kRunsAhead);
  return out;
}

// An entry, and the first cell of its term's list.
template <class Entry>
struct ListEntry {
  Entry entry;
  int32_t start;
};

struct Group {
  int32_t length, size;  // length of the lists; number of consecutive entries whose lists have this length
};

// The entries of every chunk sorted by term, as in ChunkRuns. Most runs would have one or two entries, so every entry
// stores the start of its list.
template <class Entry>
struct ChunkLists {
  std::vector<Border> borders;  // `run` is the index of a group
  unnaive::LongVector<Group> groups;
  unnaive::LongVector<ListEntry<Entry>> entries;
};

template <class Entry>
ChunkLists<Entry> lists_by_chunk(const ChunkRuns<Entry>& all, const std::vector<int64_t>& list_starts) {
  ChunkLists<Entry> out;
  out.entries.reserve(all.entries.size());
  const auto here = [&] {
    return Border{static_cast<int64_t>(out.groups.size()), static_cast<int64_t>(out.entries.size())};
  };
  for (size_t part = 0; part + 1 < all.borders.size(); ++part) {
    out.borders.push_back(here());
    const Entry* entry = all.entries.data() + all.borders[part].entry;
    int64_t before = -1;
    for (int64_t run = all.borders[part].run; run < all.borders[part + 1].run; ++run) {
      const auto [term, size] = all.runs[run];
      const int64_t start = list_starts[term], length = list_starts[term + 1] - start;
      if (length != before) out.groups.push_back({static_cast<int32_t>(length), 0});
      before = length;
      out.groups.back().size += size;
      for (const Entry* const stop = entry + size; entry < stop; ++entry)
        out.entries.push_back({*entry, static_cast<int32_t>(start)});
    }
  }
  out.borders.push_back(here());
  return out;
}

// Documents in two parts: terms with a full row of weights, and terms with a list of cells. List t has the cells
// list_starts[t] … list_starts[t + 1]; list_classes has the class of each cell.
template <class Entry>
struct CellDocuments {
  int64_t size, n_rows, width, stride, chunk;
  unnaive::LongVector<double> scale;       // of each document
  unnaive::LongVector<int64_t> starts;     // the rows of document d are by_document[starts[d]] …
  unnaive::LongVector<Entry> by_document;  // a place is a row of weights
  std::vector<int64_t> list_starts;
  std::vector<int32_t> list_classes;
  ChunkRuns<Entry> rows;
  ChunkLists<Entry> listed;

  CellDocuments(const PartMatrix& in_rows, const PartMatrix& in_lists, std::vector<int64_t> starts_of_lists,
                std::vector<int32_t> classes, int64_t n_classes, int64_t chunk_size, unnaive::LongVector<double> scales)
      : size(in_rows.size),
        n_rows(in_rows.n_terms),
        width(n_classes),
        stride((n_classes + 3) / 4 * 4),
        chunk(chunk_size),
        scale(std::move(scales)),
        starts(in_rows.starts, in_rows.starts + in_rows.size + 1),
        list_starts(std::move(starts_of_lists)),
        list_classes(std::move(classes)),
        rows(runs_by_chunk<Entry>(in_rows, chunk, scale, true)),
        listed(lists_by_chunk(runs_by_chunk<Entry>(in_lists, chunk, scale, false), list_starts)) {
    by_document.reserve(static_cast<size_t>(starts.back() + kEntriesAhead));
    for (int64_t d = 0; d < size; ++d)
      in_rows.each(d, [&](int32_t row, double value) { by_document.push_back(entry_of<Entry>(row, value, scale[d])); });
    by_document.resize(by_document.size() + kEntriesAhead);
  }

  int64_t n_cells() const { return n_rows * width + static_cast<int64_t>(list_classes.size()); }
};

// The scale of each document, such that its values are counts times the scale and the counts are small enough to pack;
// empty if some document has none.
inline unnaive::LongVector<double> packing_scales(const PartMatrix& in_rows, const PartMatrix& in_lists,
                                                  int64_t chunk) {
  if (in_rows.n_terms > kPackedPlaces || chunk > kPackedPlaces) return {};
  unnaive::LongVector<double> scales(static_cast<size_t>(in_rows.size), 1.0);
  for (int64_t d = 0; d < in_rows.size; ++d) {
    double least = INFINITY;
    for (const PartMatrix& X : {in_rows, in_lists})
      X.each(d, [&](int32_t, double value) { least = value > 0 && value < least ? value : least; });
    if (least < INFINITY) scales[d] = least;
    bool sound = true;
    for (const PartMatrix& X : {in_rows, in_lists})
      X.each(d, [&](int32_t, double value) {
        const double count = std::nearbyint(value / scales[d]);
        sound &= count >= 0 && count < (1 << kCountBits) && std::fabs(count * scales[d] - value) <= 1e-15 * value;
      });
    if (!sound) return {};
  }
  return scales;
}
