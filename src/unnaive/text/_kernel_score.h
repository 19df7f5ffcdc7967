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
  Scorer(Engine& engine, Linear linear, std::vector<uint32_t> columns, bool fast)
      : engine_(engine), linear_(std::move(linear)), columns_(std::move(columns)), fast_(fast && linear_.classes > 1) {}

  const Linear& linear() const { return linear_; }

  // Compute the scores, and the number of known term occurrences of each document. If the best class certainly leads by
  // more than `clear`, its score is 0 and the others are −∞.
  void scores(const Documents& documents, const Threads& threads, const std::function<void()>& listen, double clear,
              double* out, int64_t* known) {
    const PairTerms* pairs = engine_.fast_pairs(total_size(documents));
    const bool fast = std::isfinite(clear) && have_float_rows(total_size(documents));
    each_text<Space>(engine_, documents, threads, listen, [&](size_t row, Space& space) {
      space.pairs = pairs;
      double* scores = out + row * linear_.classes;
      const Lead lead = fast ? float_lead(documents.at(row), space) : Lead{};
      if (!(lead.least > clear)) {
        known[row] = exact(documents.at(row), space, scores);
        return;
      }
      known[row] = space.known;
      std::fill(scores, scores + linear_.classes, -std::numeric_limits<double>::infinity());
      scores[lead.best] = 0;
    });
  }

  void best(const Documents& documents, const Threads& threads, const std::function<void()>& listen, int64_t* out) {
    const PairTerms* pairs = engine_.fast_pairs(total_size(documents));
    const bool fast = have_float_rows(total_size(documents));
    each_text<Space>(engine_, documents, threads, listen, [&](size_t row, Space& space) {
      space.pairs = pairs;
      const Lead lead = fast ? float_lead(documents.at(row), space) : Lead{};
      if (lead.least > 0) {
        out[row] = static_cast<int64_t>(lead.best);
        return;
      }
      space.exact.resize(linear_.classes);
      exact(documents.at(row), space, space.exact.data());
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

  // Whether there are float32 rows. They are built once enough text was read to pay for it, if there is memory for
  // them.
  bool have_float_rows(size_t bytes) {
    if (!fast_ || (read_ += bytes) < linear_.terms * linear_.classes / kCellsPerByte) return false;
    std::call_once(filled_, [&] {
      try {
        rows_ = FloatRows(linear_, columns_);
        has_rows_ = true;
      } catch (const std::bad_alloc&) {
      }
    });
    return has_rows_;
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

  static constexpr size_t kLead = 16;          // terms between a prefetch and its use
  static constexpr size_t kCellsPerByte = 16;  // weights that are rounded in the time that they save on a byte of text

  // Compute the sums in float64 with terms in ascending order, like the product of a sparse matrix of counts with the
  // weights. Returns the number of term occurrences. Between two calls other code uses the caches, so what is read of a
  // term is prefetched: first its part, then its weights.
  int64_t exact(const Document& document, Space& space, double* out) {
    const size_t cells = count_terms(document, space);
    write_columns(space);
    std::fill(out, out + linear_.classes, 0.0);
    double length = 0, background = 0;
    int64_t known = 0;
    const int32_t* ids = space.row.ids.data();
    const auto term_at = [&](size_t i) { return static_cast<size_t>(ids[i]); };
    for (size_t i = 0; i < std::min(cells, kLead); ++i) __builtin_prefetch(linear_.parts.data() + ids[i]);
    for (size_t i = 0; i < cells; ++i) {
      if (i + kLead < cells) __builtin_prefetch(linear_.parts.data() + ids[i + kLead]);
      if (i + kLead / 2 < cells) linear_.fetch_weights(term_at(i + kLead / 2));
      known += space.row.counts[i];
      const double n = linear_.binary ? 1.0 : static_cast<double>(space.row.counts[i]);
      length += n;
      background += n * linear_.parts[term_at(i)].background;
      linear_.add(term_at(i), n, out);
    }
    for (size_t c = 0; c < linear_.classes; ++c)
      out[c] += (length * linear_.class_background[c] + background) + linear_.bias[c];
    return known;
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
  std::once_flag filled_;
  bool has_rows_ = false;
  FloatRows rows_;
};

}  // namespace unnaive
