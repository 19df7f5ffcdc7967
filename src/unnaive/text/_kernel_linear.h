// A linear model in the kernel: dense weights, or sparse weights by term.
#pragma once
#include <algorithm>
#include <vector>

#include "_kernel_memory.h"

namespace unnaive {

// What is added to all weights of a term, and the first of its sparse weights (arcs), which end where those of the next
// term start.
struct TermPart {
  double background;
  int64_t start;
};

// score(c) = bias[c] + Σ_t n_t (arcs[c, t] + background[t] + class_background[c])
struct Linear {
  size_t classes = 0, terms = 0;
  const double* dense = nullptr;  // (terms, classes), or:
  Array<double> arcs;
  Array<int32_t> arc_class;
  Array<TermPart> parts;  // (terms + 1,)
  const double *class_background = nullptr, *bias = nullptr;
  bool binary = false;
  bool rows = false;  // whether as many arcs as classes are a row of weights, in the order of classes

  // Call use(class, weight) for the weights of a term: all of them if they are in a row, else the arcs.
  template <class Use>
  void each_weight(size_t t, const Use& use) const {
    if (const double* row = row_of(t)) {
      for (size_t c = 0; c < classes; ++c) use(c, row[c]);
    } else {
      for (size_t k = start(t); k < start(t + 1); ++k) use(static_cast<size_t>(arc_class[k]), arcs[k]);
    }
  }

  // Add n times the weights of a term.
  void add(size_t t, double n, double* __restrict out) const {
    if (const double* __restrict row = row_of(t)) {
      for (size_t c = 0; c < classes; ++c) out[c] += n * row[c];
    } else {
      for (size_t k = start(t); k < start(t + 1); ++k) out[arc_class[k]] += n * arcs[k];
    }
  }

  // Prefetch the weights of a term, whose part should be in the cache.
  void fetch_weights(size_t t) const {
    const double* row = dense ? dense + t * classes : arcs.data() + start(t);
    const size_t n = dense ? classes : start(t + 1) - start(t);
    for (size_t c = 0; c < std::min<size_t>(n, 64); c += 8) __builtin_prefetch(row + c);
    if (!dense) __builtin_prefetch(arc_class.data() + start(t));
  }

  // Take the backgrounds of the terms; their weights are dense.
  void set_backgrounds(const double* backgrounds) {
    parts = Array<TermPart>::unset(terms + 1);
    for (size_t t = 0; t < terms; ++t) parts[t] = {backgrounds[t], 0};
    parts[terms] = {0, 0};
  }

  // Take the cells of a sparse matrix with a row for each class, and the backgrounds. If columns ascend in each row,
  // terms with arcs to at least half of the classes get a row with zeros for the others, which changes no sum, and one
  // block of columns after another is written, so that writes stay in the cache.
  template <class Index>
  void set_arcs(const double* weights, const Index* columns, const Index* ends, const double* backgrounds) {
    rows = true;
    Array<uint32_t> n_arcs(terms);
    for (size_t c = 0; c < classes; ++c) {
      Index before = -1;
      bool ascending = true;
      for (Index k = ends[c]; k < ends[c + 1]; ++k) {
        ascending &= before < columns[k];
        before = columns[k];
        ++n_arcs[static_cast<size_t>(before)];
      }
      rows &= ascending;
    }
    parts = Array<TermPart>::unset(terms + 1);
    size_t used = 0;
    for (size_t t = 0; t < terms; ++t) {
      const size_t n = n_arcs[t];
      parts[t] = {backgrounds[t], static_cast<int64_t>(used)};
      used += rows && 2 * n >= classes ? classes : n;
    }
    parts[terms] = {0, static_cast<int64_t>(used)};
    arcs = Array<double>::unset(used);
    arc_class = Array<int32_t>::unset(used);
    const bool worth = classes * (terms / kBlock) < used / 8;
    const size_t block = rows && worth ? kBlock : terms + 1;
    std::vector<Index> from(ends, ends + classes);
    std::vector<NextArc> next(std::min(block, terms));
    // local copies: the compiler would reload the members after every write
    double* const __restrict all_arcs = arcs.data();
    int32_t* const __restrict all_classes = arc_class.data();
    for (size_t first = 0; first < terms; first += block) {
      const size_t last = std::min(terms, first + block);
      for (size_t t = first; t < last; ++t) {
        const bool row = row_of(t) != nullptr;
        next[t - first] = {start(t), row ? size_t{1} : 0, row ? size_t{0} : 1};
        if (row) std::fill_n(all_arcs + start(t), classes, 0.0);
      }
      NextArc* const __restrict next_of = next.data();
      for (size_t c = 0; c < classes; ++c) {
        Index k = from[c];
        const Index end = ends[c + 1];
        for (; k < end && static_cast<size_t>(columns[k]) < last; ++k) {
          NextArc& arc = next_of[static_cast<size_t>(columns[k]) - first];
          const size_t at = arc.at + c * arc.by_class;
          arc.at += arc.by_arc;
          all_arcs[at] = weights[k];
          all_classes[at] = static_cast<int32_t>(c);
        }
        from[c] = k;
      }
    }
  }

 private:
  size_t start(size_t t) const { return static_cast<size_t>(parts[t].start); }

  // The weights of a term for all classes; null if it has arcs.
  const double* row_of(size_t t) const {
    if (dense) return dense + t * classes;
    return rows && start(t + 1) - start(t) == classes ? arcs.data() + start(t) : nullptr;
  }

  // The place of the next arc of a term: that of its class in a row, else the one after the arc before.
  struct NextArc {
    size_t at, by_class, by_arc;
  };

  static constexpr size_t kBlock = 2048;
};

}  // namespace unnaive
