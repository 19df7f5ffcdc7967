// One pass over the documents for generalised iterative scaling (_products_cells.h has their layout), compiled once for
// each instruction set: included in two namespaces of _products.cpp, so no guard.

#include "_exp_four.h"

// scores[from…from+4K) = Σ_k value_k · weights[row_k, from…from+4K)
template <int K, class Entry>
void score_block(const Entry* k, const Entry* stop, const double* weights, double* scores, int64_t width) {
  Four sums[K] = {};
  for (; k < stop; ++k) {
    const double* later = weights + k[kEntriesAhead].place() * width;
    for (int j = 0; j < K; j += 2) __builtin_prefetch(later + 4 * j);
    const double* row = weights + k->place() * width;
    const double x = k->value();
    for (int j = 0; j < K; ++j) sums[j] += x * load(row + 4 * j);
  }
  for (int j = 0; j < K; ++j) store(scores + 4 * j, sums[j]);
}

template <class Entry>
void score_rows(const Entry* k, const Entry* stop, const double* weights, double* scores, int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) score_block<5>(k, stop, weights + from, scores + from, width);
  for (; width - from >= 8; from += 8) score_block<2>(k, stop, weights + from, scores + from, width);
  for (; width - from >= 4; from += 4) score_block<1>(k, stop, weights + from, scores + from, width);
  for (; from < width; ++from) {
    scores[from] = 0.0;
    for (const Entry* i = k; i < stop; ++i) scores[from] += i->value() * weights[i->place() * width + from];
  }
}

// Entries of one part of a chunk, and the runs that they are in.
template <class Entry>
struct PartRuns {
  const Run *run, *stop;
  const Entry* entry;

  PartRuns(const ChunkRuns<Entry>& all, int64_t chunk, int64_t part, int64_t parts)
      : run(all.runs.data() + all.borders[chunk * kParts + part].run),
        stop(all.runs.data() + all.borders[chunk * kParts + part + parts].run),
        entry(all.entries.data() + all.borders[chunk * kParts + part].entry) {}
};

// scores[document, class] += value · weights[cell], over the cells of the term's list
template <class Entry>
void score_lists(const CellDocuments<Entry>& X, PartRuns<Entry> some, const double* weights, double* scores) {
  for (; some.run < some.stop; ++some.run) {
    const int64_t start = X.list_starts[some.run->term], end = X.list_starts[some.run->term + 1];
    const Entry* const stop = some.entry + some.run->size;
    for (; some.entry < stop; ++some.entry) {
      double* own = scores + some.entry->place() * X.stride;
      const double x = some.entry->value();
      for (int64_t j = start; j < end; ++j) own[X.list_classes[j]] += x * weights[j];
    }
  }
}

// expected[cell] += value · posteriors[document, class]
template <class Entry>
void expect_lists(const CellDocuments<Entry>& X, PartRuns<Entry> some, const double* posteriors, double* expected) {
  for (; some.run < some.stop; ++some.run) {
    const int64_t start = X.list_starts[some.run->term], end = X.list_starts[some.run->term + 1];
    const Entry* const stop = some.entry + some.run->size;
    for (; some.entry < stop; ++some.entry) {
      const double* own = posteriors + some.entry->place() * X.stride;
      const double x = some.entry->value();
      for (int64_t j = start; j < end; ++j) expected[j] += x * own[X.list_classes[j]];
    }
  }
}

// expected[row, from…from+4K) += value · posteriors[document, from…from+4K)
template <int K, class Entry>
void expect_block(PartRuns<Entry> some, const double* posteriors, int64_t stride, double* expected, int64_t width) {
  for (; some.run < some.stop; ++some.run) {
    double* row = expected + some.run->term * width;
    Four sums[K];
    for (int j = 0; j < K; ++j) sums[j] = load(row + 4 * j);
    const Entry* const stop = some.entry + some.run->size;
    for (; some.entry < stop; ++some.entry) {
      const double* later = posteriors + some.entry[kEntriesAhead].place() * stride;
      for (int j = 0; j < K; j += 2) __builtin_prefetch(later + 4 * j);
      const double* own = posteriors + some.entry->place() * stride;
      const double x = some.entry->value();
      for (int j = 0; j < K; ++j) sums[j] += x * load(own + 4 * j);
    }
    for (int j = 0; j < K; ++j) store(row + 4 * j, sums[j]);
  }
}

template <class Entry>
void expect_column(PartRuns<Entry> some, const double* posteriors, int64_t stride, double* expected, int64_t width) {
  for (; some.run < some.stop; ++some.run) {
    double sum = expected[some.run->term * width];
    const Entry* const stop = some.entry + some.run->size;
    for (; some.entry < stop; ++some.entry) sum += some.entry->value() * posteriors[some.entry->place() * stride];
    expected[some.run->term * width] = sum;
  }
}

template <class Entry>
void expect_rows(const PartRuns<Entry>& some, const double* posteriors, int64_t stride, double* expected,
                 int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) expect_block<5>(some, posteriors + from, stride, expected + from, width);
  for (; width - from >= 8; from += 8) expect_block<2>(some, posteriors + from, stride, expected + from, width);
  for (; width - from >= 4; from += 4) expect_block<1>(some, posteriors + from, stride, expected + from, width);
  for (; from < width; ++from) expect_column(some, posteriors + from, stride, expected + from, width);
}

// Scores, times `scale` and plus `offset`, become posteriors times weight and scale; returns weight · log p(target).
inline double posteriors_of(double* scores, const double* offset, int64_t stride, int32_t target, double scale,
                            double weight) {
  Four most = load(offset) - INFINITY;
  for (int64_t c = 0; c < stride; c += 4) {
    const Four score = load(scores + c) * scale + load(offset + c);
    store(scores + c, score);
    for (int j = 0; j < 4; ++j) most[j] = score[j] > most[j] ? score[j] : most[j];
  }
  const double largest = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
  const double own = scores[target] - largest;
  Four sums = {};
  for (int64_t c = 0; c < stride; c += 4) {
    const Four found = exp_of(load(scores + c) - largest);
    store(scores + c, found);
    sums += found;
  }
  const double total = (sums[0] + sums[1]) + (sums[2] + sums[3]), factor = weight * scale / total;
  for (int64_t c = 0; c < stride; c += 4) store(scores + c, load(scores + c) * factor);
  return weight * (own - std::log(total));
}

// The posteriors of the documents of a chunk, and the log-likelihood of each document.
template <class Entry>
void chunk_posteriors(const CellDocuments<Entry>& X, const Labels& labels, const double* weights, int64_t chunk,
                      double* scores, double* likelihoods) {
  const int64_t first = chunk * X.chunk, size = std::min(X.chunk, X.size - first);
  for (int64_t d = 0; d < size; ++d) {
    const Entry* entries = X.by_document.data();
    double* own = scores + d * X.stride;
    score_rows(entries + X.starts[first + d], entries + X.starts[first + d + 1], weights, own, X.width);
    std::fill(own + X.width, own + X.stride, 0.0);
  }
  score_lists(X, PartRuns<Entry>(X.listed, chunk, 0, kParts), weights + X.n_rows * X.width, scores);
  for (int64_t d = 0; d < size; ++d) {
    const int64_t all = first + d;
    likelihoods[all] = posteriors_of(scores + d * X.stride, labels.offset, X.stride, labels.targets[all], X.scale[all],
                                     labels.weight[all]);
  }
}

// Threads take chunks for the posteriors, then parts of the cells for the sums: every number is added up in the same
// order, so that results do not depend on how many threads there are.
template <class Entry>
double expectations(const CellDocuments<Entry>& X, const Labels& labels, const double* weights, double* expected,
                    int64_t threads) {
  const int64_t chunks = (X.size + X.chunk - 1) / X.chunk, cells = X.chunk * X.stride;
  const int64_t group = threads == 1 ? 1 : std::min(std::max<int64_t>(kGroupCells / cells, threads), chunks);
  std::vector<double> space(group * cells + 8), likelihoods(X.size);
  double* room = space.data() + (8 - reinterpret_cast<uintptr_t>(space.data()) / sizeof(double) % 8) % 8;
  for (int64_t first = 0; first < chunks; first += group) {
    const int64_t last = std::min(first + group, chunks), parts = threads == 1 ? kParts : 1;
    in_threads(threads, last - first, [&](int64_t i) {
      chunk_posteriors(X, labels, weights, first + i, room + i * cells, likelihoods.data());
    });
    in_threads(threads, kParts / parts, [&](int64_t part) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const double* found = room + (chunk - first) * cells;
        expect_rows(PartRuns<Entry>(X.rows, chunk, part, parts), found, X.stride, expected, X.width);
        expect_lists(X, PartRuns<Entry>(X.listed, chunk, part, parts), found, expected + X.n_rows * X.width);
      }
    });
  }
  double likelihood = 0.0;
  for (const double one : likelihoods) likelihood += one;
  return likelihood;
}
