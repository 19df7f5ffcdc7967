// A linear model in the kernel: dense weights, or sparse weights by term.
#pragma once
#include <utility>
#include <vector>

#include "_kernel_memory.h"

namespace unnaive {

// A sparse weight and its class.
struct Arc {
  double weight;
  int32_t of_class;
};

// What is added to all weights of a term, and the first of its arcs, which end where those of the next term start.
struct TermPart {
  double background;
  int64_t start;
};

// score(c) = bias[c] + Σ_t n_t (arcs[c, t] + background[t] + class_background[c])
struct Linear {
  size_t classes = 0, terms = 0;
  const double* dense = nullptr;  // (terms, classes), or:
  Array<Arc> arcs;
  Array<TermPart> parts;  // (terms + 1,)
  const double *class_background = nullptr, *bias = nullptr;
  bool binary = false;

  // Call use(class, weight) for the weights of a term: all of them if they are dense, else the arcs.
  template <class Use>
  void each_weight(size_t t, const Use& use) const {
    if (dense) {
      const double* row = dense + t * classes;
      for (size_t c = 0; c < classes; ++c) use(c, row[c]);
    } else {
      for (int64_t k = parts[t].start; k < parts[t + 1].start; ++k)
        use(static_cast<size_t>(arcs[static_cast<size_t>(k)].of_class), arcs[static_cast<size_t>(k)].weight);
    }
  }

  // Prefetch the weights of a term, whose part should be in the cache.
  void fetch_weights(size_t t) const {
    const auto* row = dense ? reinterpret_cast<const char*>(dense + t * classes)
                            : reinterpret_cast<const char*>(arcs.data() + parts[t].start);
    const size_t bytes = dense ? std::min<size_t>(classes, 64) * sizeof(double) : 1;
    for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at);
  }

  // Take the cells of a sparse matrix with a row for each class. If columns ascend in each row, one block of columns
  // after another is written, so that writes stay in the cache.
  template <class Index>
  void set_arcs(const double* weights, const Index* columns, const Index* ends) {
    arcs = Array<Arc>::unset(static_cast<size_t>(ends[classes]));
    bool ascend = true;
    for (size_t c = 0; c < classes; ++c)
      for (Index k = ends[c] + 1; k < ends[c + 1]; ++k) ascend &= columns[k - 1] < columns[k];
    const bool worth = classes * (terms / kBlock) < arcs.size() / 8;
    const size_t block = ascend && worth ? kBlock : terms + 1;
    std::vector<Index> from(ends, ends + classes), to(from);
    Array<int64_t> next(std::min(block, terms));
    int64_t used = 0;
    for (size_t first = 0; first < terms; first += block) {
      const size_t last = std::min(terms, first + block);
      const auto in_block = [&](Index k) -> int64_t& { return next[static_cast<size_t>(columns[k]) - first]; };
      for (size_t c = 0; c < classes; ++c)
        for (; to[c] < ends[c + 1] && static_cast<size_t>(columns[to[c]]) < last; ++to[c]) ++in_block(to[c]);
      for (size_t t = first; t < last; ++t) {
        parts[t].start = used;
        used += std::exchange(next[t - first], used);
      }
      for (size_t c = 0; c < classes; ++c)
        for (; from[c] < to[c]; ++from[c])
          arcs[static_cast<size_t>(in_block(from[c])++)] = {weights[from[c]], static_cast<int32_t>(c)};
      std::fill(next.data(), next.data() + next.size(), 0);
    }
    parts[terms].start = used;
  }

 private:
  static constexpr size_t kBlock = 4096;
};

}  // namespace unnaive
