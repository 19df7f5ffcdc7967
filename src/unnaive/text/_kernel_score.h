// Documents → scores of a linear model, without a matrix. The exact sums are in double; the best class is looked
// for in float first, and where its lead is within the error bound, the exact sums decide.
#pragma once
#include <cmath>
#include <limits>

#include "_kernel_engine.h"

namespace unnaive {

// score(c) = bias[c] + Σ_t n_t (arcs[c, t] + term_background[t] + class_background[c])
struct Linear {
  size_t classes = 0, terms = 0;
  const double* dense = nullptr;  // (terms, classes), or:
  const int64_t* ends = nullptr;  // arcs of term t are ends[t] … ends[t + 1] of
  const int32_t* arc_class = nullptr;
  const double* arc = nullptr;
  const double *class_background = nullptr, *term_background = nullptr, *bias = nullptr;
  bool binary = false;

  // weights of one term for all classes
  void row(size_t t, double* out) const {
    for (size_t c = 0; c < classes; ++c)
      out[c] = term_background[t] + class_background[c] + (dense ? dense[t * classes + c] : 0.0);
    if (!dense)
      for (int64_t k = ends[t]; k < ends[t + 1]; ++k) out[arc_class[k]] += arc[k];
  }

  // Adds n times the arcs of a term.
  void add_arcs(size_t t, double n, double* out) const {
    if (dense) {
      const double* row = dense + t * classes;
      for (size_t c = 0; c < classes; ++c) out[c] += n * row[c];
    } else {
      for (int64_t k = ends[t]; k < ends[t + 1]; ++k) out[arc_class[k]] += n * arc[k];
    }
  }
};

// The arcs of each class, rows of a sparse matrix, in the order of their terms.
struct TermArcs {
  Array<double> arc;
  Array<int32_t> arc_class;
  Array<int64_t> ends;

  TermArcs(const double* arcs, const int64_t* terms, const int64_t* class_ends, size_t classes, size_t n_terms)
      : arc(static_cast<size_t>(class_ends[classes])), arc_class(arc.size()), ends(n_terms + 1) {
    Array<int64_t> next(n_terms + 1);
    for (size_t k = 0; k < arc.size(); ++k) ++ends[static_cast<size_t>(terms[k]) + 1];
    for (size_t t = 0; t < n_terms; ++t) next[t + 1] = ends[t + 1] += ends[t];
    for (size_t c = 0; c < classes; ++c)
      for (int64_t k = class_ends[c]; k < class_ends[c + 1]; ++k) {
        const auto at = static_cast<size_t>(next[static_cast<size_t>(terms[k])]++);
        arc[at] = arcs[k];
        arc_class[at] = static_cast<int32_t>(c);
      }
  }
};

typedef float Four __attribute__((vector_size(16)));

// Adds the rows of n terms to `sums`; kGroups vectors stay in registers.
template <unsigned kGroups>
void add_rows(const Four* rows, size_t groups, const uint32_t* terms, unsigned n, Four* sums) {
  Four local[kGroups];
  for (unsigned g = 0; g < kGroups; ++g) local[g] = sums[g];
  for (unsigned i = 0; i < n; ++i) {
    const Four* row = rows + terms[i] * groups;
    for (unsigned g = 0; g < kGroups; ++g) local[g] += row[g];
  }
  for (unsigned g = 0; g < kGroups; ++g) sums[g] = local[g];
}

inline void add_any_rows(const Four* rows, size_t groups, const uint32_t* terms, unsigned n, Four* sums) {
  for (unsigned i = 0; i < n; ++i) {
    const Four* row = rows + terms[i] * groups;
    for (size_t g = 0; g < groups; ++g) sums[g] += row[g];
  }
}

using AddRows = void (*)(const Four*, size_t, const uint32_t*, unsigned, Four*);

inline AddRows add_rows_for(size_t groups) {
  static const AddRows table[] = {add_rows<1>, add_rows<2>, add_rows<3>, add_rows<4>,
                                  add_rows<5>, add_rows<6>, add_rows<7>, add_rows<8>};
  return groups >= 1 && groups <= 8 ? table[groups - 1] : add_any_rows;
}

// The lowest class with the highest score; a NaN wins, as in numpy.
inline int64_t argmax(const double* scores, size_t n) {
  size_t best = 0;
  for (size_t c = 0; c < n; ++c) {
    if (std::isnan(scores[c])) return static_cast<int64_t>(c);
    if (scores[c] > scores[best]) best = c;
  }
  return static_cast<int64_t>(best);
}

class Scorer {
 public:
  // Term t of the engine has column columns[t] of the weights, or column t where there are no columns.
  Scorer(Engine& engine, const Linear& linear, std::vector<uint32_t> columns, bool fast)
      : engine_(engine),
        linear_(linear),
        columns_(std::move(columns)),
        fast_(fast && linear.classes > 1),
        groups_((linear.classes + 3) / 4),
        add_(add_rows_for(groups_)) {}

  // Also how many mentions of terms each document has.
  void scores(const Documents& documents, const Threads& threads, const std::function<void()>& listen, double* out,
              int64_t* known) {
    const bool full = worth_full_rows(total_size(documents));
    each(documents, threads, listen, [&](size_t row, Space& space) {
      known[row] = exact(documents.at(row), space, full, out + row * linear_.classes);
    });
  }

  void best(const Documents& documents, const Threads& threads, const std::function<void()>& listen, int64_t* out) {
    const bool fast = worth_rows(total_size(documents));
    each(documents, threads, listen, [&](size_t row, Space& space) {
      const int64_t found = fast ? fast_best(documents.at(row), space) : -1;
      if (found >= 0) {
        out[row] = found;
        return;
      }
      space.exact.resize(linear_.classes);
      exact(documents.at(row), space, false, space.exact.data());
      out[row] = argmax(space.exact.data(), linear_.classes);
    });
  }

 private:
  struct Space {
    std::unique_ptr<Scratch> scratch;
    std::vector<double> exact;
    Rows row;
    RowCounter columns;
    std::vector<Four> sums;
    std::vector<double> totals;
  };

  template <class Work>
  void each(const Documents& documents, const Threads& threads, const std::function<void()>& listen, Work&& work) {
    const unsigned n = threads.shards(documents), parts = n > 1 ? n * kParts : 1;
    const std::vector<size_t> bounds = shard_bounds(documents, parts);
    const bool keep = longest_size(documents) <= kShort;
    std::atomic<unsigned> next{0};
    Stop stop;
    run_sharded(n, stop, [&](unsigned s) {
      Space space;
      space.scratch = engine_.take_scratch();
      Listener listener{listen, s == 0};
      for (unsigned part = next++; part < parts; part = next++)
        each_document(documents, bounds[part], bounds[part + 1], listener, stop, [&](size_t row) { work(row, space); });
      engine_.give_back(std::move(space.scratch), keep);
    });
  }

  // Whether there are rows in float, or full ones: they take as long to make as some texts to read, so that they wait
  // for these.
  bool worth_rows(size_t bytes) {
    if (!fast_ || (read_ += bytes) < linear_.terms) return false;
    std::call_once(filled_, [&] { fill_rows(); });
    return true;
  }
  bool worth_full_rows(size_t bytes) {
    if (linear_.dense || (read_ += bytes) < linear_.terms) return false;
    std::call_once(full_filled_, [&] { fill_full_rows(); });
    return !full_row_.empty();
  }

  // Counts the document's terms, for which there is room in space.row; gives how many there are.
  size_t count_terms(const Document& document, Space& space) {
    engine_.count_into(document, *space.scratch);
    space.row.make_room(space.scratch->row.size());
    return space.scratch->row.size();
  }

  // The columns of the terms that were counted, ascending, and their counts go to space.row.
  void write_columns(Space& space) {
    RowCounter& row = space.scratch->row;
    int32_t *ids = space.row.ids.data(), *counts = space.row.counts.data();
    if (columns_.empty()) return row.write_sorted(ids, counts);
    const size_t n = row.size();
    row.write(ids, counts);
    space.columns.make_room(linear_.terms, n);
    space.columns.load(ids, counts, n, columns_, 0);
    space.columns.write_sorted(ids, counts);
  }

  static constexpr size_t kLead = 16;  // terms between asking memory for what a term needs and adding it

  // What exact() reads of a term, asked for in time: first where its weights are, then the weights. Between two calls
  // others use the caches, so that next to nothing is there.
  void fetch_places(size_t term, bool full) const {
    __builtin_prefetch(linear_.term_background + term);
    if (full) __builtin_prefetch(full_row_.data() + term);
    if (!linear_.dense) __builtin_prefetch(linear_.ends + term);
  }
  void fetch_weights(size_t term, bool full) const {
    const uint32_t own = full ? full_row_[term] : 0;
    if (linear_.dense || own) {
      const double* row =
          own ? full_rows_.data() + (own - 1) * linear_.classes : linear_.dense + term * linear_.classes;
      for (size_t c = 0; c < std::min<size_t>(linear_.classes, 64); c += 8) __builtin_prefetch(row + c);
    } else {
      __builtin_prefetch(linear_.arc + linear_.ends[term]);
      __builtin_prefetch(linear_.arc_class + linear_.ends[term]);
    }
  }

  // The sums in double, terms in ascending order, as the product of sparse counts with the weights has them; `full`
  // says whether there are full rows. Gives how many mentions of terms there are.
  int64_t exact(const Document& document, Space& space, bool full, double* out) {
    const size_t cells = count_terms(document, space);
    write_columns(space);
    std::fill(out, out + linear_.classes, 0.0);
    double length = 0, background = 0;
    int64_t known = 0;
    const int32_t* ids = space.row.ids.data();
    for (size_t i = 0; i < std::min(cells, kLead); ++i) fetch_places(static_cast<size_t>(ids[i]), full);
    for (size_t i = 0; i < cells; ++i) {
      if (i + kLead < cells) fetch_places(static_cast<size_t>(ids[i + kLead]), full);
      if (i + kLead / 2 < cells) fetch_weights(static_cast<size_t>(ids[i + kLead / 2]), full);
      const auto term = static_cast<size_t>(space.row.ids[i]);
      known += space.row.counts[i];
      const double n = linear_.binary ? 1.0 : static_cast<double>(space.row.counts[i]);
      length += n;
      background += n * linear_.term_background[term];
      const uint32_t row = full ? full_row_[term] : 0;
      row ? add_full(row - 1, n, out) : linear_.add_arcs(term, n, out);
    }
    for (size_t c = 0; c < linear_.classes; ++c)
      out[c] += (length * linear_.class_background[c] + background) + linear_.bias[c];
    return known;
  }

  // Frequent terms have arcs to most classes: those have a row of all of them, zero where there is none, which changes
  // no sum and is added several classes at a time.
  void fill_full_rows() {
    const auto many = [&](size_t t) {
      return 2 * static_cast<size_t>(linear_.ends[t + 1] - linear_.ends[t]) >= linear_.classes;
    };
    size_t n = 0;
    for (size_t t = 0; t < linear_.terms; ++t) n += many(t);
    if (n == 0 || linear_.classes < 4 || n >= std::numeric_limits<uint32_t>::max()) return;
    full_row_.assign(linear_.terms, 0);
    full_rows_.assign(n * linear_.classes, 0.0);
    uint32_t at = 0;
    for (size_t t = 0; t < linear_.terms; ++t) {
      if (!many(t)) continue;
      linear_.add_arcs(t, 1.0, full_rows_.data() + at * linear_.classes);
      full_row_[t] = ++at;
    }
  }

  void add_full(size_t row, double n, double* __restrict out) const {
    const double* __restrict weights = full_rows_.data() + row * linear_.classes;
    for (size_t c = 0; c < linear_.classes; ++c) out[c] += n * weights[c];
  }

  // Weights in float, in the order of the engine's terms, less their mean over the classes, which leaves the best class
  // as it is.
  void fill_rows() {
    rows_ = Array<Four>(linear_.terms * groups_ + 1);
    std::vector<double> row(linear_.classes);
    auto* out = reinterpret_cast<float*>(rows_.data());
    for (size_t t = 0; t < linear_.terms; ++t, out += 4 * groups_) {
      linear_.row(columns_.empty() ? t : columns_[t], row.data());
      double mean = 0;
      for (const double weight : row) mean += weight / static_cast<double>(row.size());
      for (size_t c = 0; c < 4 * groups_; ++c) {
        out[c] = c < row.size() ? static_cast<float>(row[c] - mean) : 0.0f;
        if (c < row.size()) note(row[c], row[c] - mean);
      }
    }
    for (size_t c = 0; c < linear_.classes; ++c) largest_bias_ = larger(largest_bias_, linear_.bias[c]);
  }

  static double larger(double most, double value) {
    return std::isfinite(value) ? std::max(most, std::fabs(value)) : std::numeric_limits<double>::infinity();
  }
  void note(double weight, double centred) {
    largest_ = larger(largest_, centred);
    largest_weight_ = larger(largest_weight_, weight);
  }

  // Twice what the sums of n terms may be off: in float no more than a batch is added, the rest in double.
  double doubt(double n) const {
    const double batch = std::min<double>(n, kBatch) + 4;
    return 2 * n * (batch * std::ldexp(largest_, -24) + (n + 4) * std::ldexp(largest_weight_, -51)) +
           std::ldexp(largest_bias_, -50);
  }

  void fetch(uint32_t term) const {
    // a number, since a word that is no term asks for what is nowhere, which does no harm
    const auto row = reinterpret_cast<uintptr_t>(rows_.data()) + term * groups_ * sizeof(Four);
    for (size_t g = 0; g < groups_ && g < 16; g += 4)
      __builtin_prefetch(reinterpret_cast<const void*>(row + g * sizeof(Four)));
  }

  // Float sums join the totals and start again.
  void add_up(Space& space) const {
    auto* sums = reinterpret_cast<float*>(space.sums.data());
    for (size_t c = 0; c < linear_.classes; ++c) space.totals[c] += static_cast<double>(sums[c]);
    std::fill(space.sums.begin(), space.sums.end(), Four{0, 0, 0, 0});
  }

  // The number of terms whose rows have been added.
  size_t sum_words(const Document& document, Space& space) {
    size_t total = 0;
    const auto ask = [&](uint32_t term) { fetch(term); };
    engine_.each_batch(document, *space.scratch, ask, [&](const uint32_t* terms, unsigned n) {
      add_(rows_.data(), groups_, terms, n, space.sums.data());
      add_up(space);
      total += n;
    });
    return total;
  }

  // A count of n is a product, whose error is within that of n sums.
  size_t sum_cells(const Document& document, Space& space) {
    const size_t cells = count_terms(document, space);
    space.scratch->row.write(space.row.ids.data(), space.row.counts.data());
    size_t total = 0;
    for (size_t i = 0; i < cells; ++i) {
      const auto n = static_cast<size_t>(linear_.binary ? 1 : space.row.counts[i]);
      const Four* row = rows_.data() + static_cast<size_t>(space.row.ids[i]) * groups_;
      for (size_t g = 0; g < groups_; ++g) space.sums[g] += static_cast<float>(n) * row[g];
      total += n;
      if (i % kBatch == kBatch - 1) add_up(space);
    }
    add_up(space);
    return total;
  }

  // The best class, or -1 if only the exact sums can tell.
  int64_t fast_best(const Document& document, Space& space) {
    space.sums.assign(groups_, Four{0, 0, 0, 0});
    space.totals.assign(linear_.classes, 0.0);
    const bool one_by_one = engine_.terms().plain() && !linear_.binary;
    const size_t n = one_by_one ? sum_words(document, space) : sum_cells(document, space);
    double best = -std::numeric_limits<double>::infinity(), second = best;
    size_t found = 0;
    for (size_t c = 0; c < linear_.classes; ++c) {
      const double score = space.totals[c] + linear_.bias[c];
      if (score > best) {
        second = best;
        best = score;
        found = c;
      } else if (score > second) {
        second = score;
      }
    }
    return best - second > doubt(static_cast<double>(n)) ? static_cast<int64_t>(found) : -1;
  }

  static constexpr unsigned kParts = 8;  // of the documents for each thread, which takes them one by one

  Engine& engine_;
  Linear linear_;
  std::vector<uint32_t> columns_;
  bool fast_;
  size_t groups_;
  AddRows add_;
  std::atomic<size_t> read_{0};  // bytes of the texts so far
  std::once_flag filled_, full_filled_;
  Array<Four> rows_;
  std::vector<uint32_t> full_row_;  // of a term: its place in full_rows_, from 1; 0 where it has none
  std::vector<double> full_rows_;
  double largest_ = 0, largest_weight_ = 0, largest_bias_ = 0;
};

}  // namespace unnaive
