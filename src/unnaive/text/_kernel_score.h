// Documents → scores of a linear model, without a matrix. Exact sums are in float64. The best class is first computed
// in float32; if its lead is within the error bound, the exact sums decide.
#pragma once
#include <cmath>
#include <limits>

#include "_kernel_engine.h"
#include "_kernel_float_rows.h"

namespace unnaive {

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
  // Term t of the engine has column columns[t] of the weights, or column t if `columns` is empty.
  Scorer(Engine& engine, const Linear& linear, std::vector<uint32_t> columns, bool fast)
      : engine_(engine), linear_(linear), columns_(std::move(columns)), fast_(fast && linear.classes > 1) {}

  // Compute the scores, and the number of known term occurrences of each document. If the best class certainly leads by
  // more than `clear`, its score is 0 and the others are −∞.
  void scores(const Documents& documents, const Threads& threads, const std::function<void()>& listen, double clear,
              double* out, int64_t* known) {
    const PairTerms* pairs = engine_.fast_pairs(total_size(documents));
    const bool enough = worth_rows(total_size(documents));
    const bool full = enough && have_full_rows(), fast = enough && std::isfinite(clear) && have_float_rows();
    each_text<Space>(engine_, documents, threads, listen, [&](size_t row, Space& space) {
      space.pairs = pairs;
      double* scores = out + row * linear_.classes;
      const Lead lead = fast ? float_lead(documents.at(row), space) : Lead{};
      if (!(lead.least > clear)) {
        known[row] = exact(documents.at(row), space, full, scores);
        return;
      }
      known[row] = space.known;
      std::fill(scores, scores + linear_.classes, -std::numeric_limits<double>::infinity());
      scores[lead.best] = 0;
    });
  }

  void best(const Documents& documents, const Threads& threads, const std::function<void()>& listen, int64_t* out) {
    const PairTerms* pairs = engine_.fast_pairs(total_size(documents));
    const bool fast = worth_rows(total_size(documents)) && have_float_rows();
    each_text<Space>(engine_, documents, threads, listen, [&](size_t row, Space& space) {
      space.pairs = pairs;
      const Lead lead = fast ? float_lead(documents.at(row), space) : Lead{};
      if (lead.least > 0) {
        out[row] = static_cast<int64_t>(lead.best);
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
    const PairTerms* pairs = nullptr;
    std::vector<double> exact;
    Rows row;
    RowCounter columns;
    FloatSums sums;
    int64_t known = 0;  // term occurrences of the document in the last float_lead()
  };

  // Whether enough text was read to pay for building float32 or full rows.
  bool worth_rows(size_t bytes) { return (read_ += bytes) >= linear_.terms; }
  bool have_float_rows() {
    if (fast_) std::call_once(filled_, [&] { rows_ = FloatRows(linear_, columns_); });
    return fast_;
  }
  bool have_full_rows() {
    if (linear_.dense) return false;
    std::call_once(full_filled_, [&] { fill_full_rows(); });
    return !full_row_.empty();
  }

  // Count the terms of a document and make room for them in space.row; return their number.
  size_t count_terms(const Document& document, Space& space) {
    engine_.count_into(document, *space.scratch, space.pairs, [](uint32_t) {});
    space.row.make_room(space.scratch->row.size());
    return space.scratch->row.size();
  }

  // Write the columns of the counted terms in ascending order, and their counts, to space.row.
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

  static constexpr size_t kLead = 16;  // terms between a prefetch and its use

  // Prefetch what exact() reads of a term: first the position of its weights, then the weights. Between two calls other
  // code uses the caches, so nearly nothing is left in them.
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

  // Compute the sums in float64 with terms in ascending order, like the product of a sparse matrix of counts with the
  // weights; `full` tells whether there are full rows. Returns the number of term occurrences.
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

  // Terms with arcs to at least half of the classes get a full row of weights, with zeros for the other classes. This
  // changes no sum, and several classes are added at a time.
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

  // The lead by float32 sums; sets space.known to the number of term occurrences.
  Lead float_lead(const Document& document, Space& space) {
    rows_.start(space.sums);
    engine_.terms().plain() && !linear_.binary ? add_words(document, space) : add_cells(document, space);
    return rows_.lead(space.sums);
  }

  void add_words(const Document& document, Space& space) {
    const auto fetch = [&](uint32_t term) { rows_.fetch(term); };
    engine_.each_batch(document, *space.scratch, fetch,
                       [&](const uint32_t* terms, unsigned n) { rows_.add(terms, n, space.sums); });
    space.known = static_cast<int64_t>(space.sums.terms);
  }

  void add_cells(const Document& document, Space& space) {
    const size_t cells = count_terms(document, space);
    const int32_t *ids = space.row.ids.data(), *counts = space.row.counts.data();
    space.scratch->row.write(space.row.ids.data(), space.row.counts.data());
    rows_.add_cells(ids, counts, cells, space.sums);
    space.known = std::accumulate(counts, counts + cells, int64_t{0});
  }

  Engine& engine_;
  Linear linear_;
  std::vector<uint32_t> columns_;
  bool fast_;
  std::atomic<size_t> read_{0};  // bytes of text read so far
  std::once_flag filled_, full_filled_;
  FloatRows rows_;
  std::vector<uint32_t> full_row_;  // for each term: its position in full_rows_ plus 1, or 0
  std::vector<double> full_rows_;
};

}  // namespace unnaive
