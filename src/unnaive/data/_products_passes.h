// One pass over the documents for generalised iterative scaling (_products_cells.h has the layout), compiled once for
// each instruction set: included in two namespaces of _products.cpp, so there is no include guard.

#include "../base/_exp_vector.h"

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

// The entries of one part of a chunk, and their runs.
template <class Entry>
struct PartRuns {
  const Run *run, *stop;
  const Entry* entry;

  PartRuns(const ChunkRuns<Entry>& all, int64_t chunk, int64_t part, int64_t parts)
      : run(all.runs.data() + all.borders[chunk * kParts + part].run),
        stop(all.runs.data() + all.borders[chunk * kParts + part + parts].run),
        entry(all.entries.data() + all.borders[chunk * kParts + part].entry) {}
};

// Call work(length); small lengths are passed as compile-time constants, so that loops over them are unrolled
template <class Work>
void with_length(int32_t length, const Work& work) {
  switch (length) {
    case 1:
      return work(std::integral_constant<int32_t, 1>());
    case 2:
      return work(std::integral_constant<int32_t, 2>());
    case 3:
      return work(std::integral_constant<int32_t, 3>());
    case 4:
      return work(std::integral_constant<int32_t, 4>());
    case 5:
      return work(std::integral_constant<int32_t, 5>());
    case 6:
      return work(std::integral_constant<int32_t, 6>());
    case 7:
      return work(std::integral_constant<int32_t, 7>());
    default:
      return work(length);
  }
}

// Call look(document, value, start of the list, length of the list) for every listed entry of some parts of a chunk
template <class Entry, class Look>
void each_listed(const ChunkLists<Entry>& all, int64_t chunk, int64_t part, int64_t parts, const Look& look) {
  const Border first = all.borders[chunk * kParts + part], last = all.borders[chunk * kParts + part + parts];
  const ListEntry<Entry>* k = all.entries.data() + first.entry;
  for (int64_t group = first.run; group < last.run; ++group) {
    const ListEntry<Entry>* const stop = k + all.groups[group].size;
    with_length(all.groups[group].length, [&](auto length) {
      for (; k < stop; ++k) look(k->entry.place(), k->entry.value(), k->start, length);
    });
  }
}

// scores[document, class] += value · weights[cell], over the cells of the term's list
template <class Entry>
void score_lists(const CellDocuments<Entry>& X, int64_t chunk, const double* weights, double* scores) {
  each_listed(X.listed, chunk, 0, kParts, [&](int64_t document, double value, int64_t start, auto length) {
    double* own = scores + document * X.stride;
    for (int32_t j = 0; j < length; ++j) own[X.list_classes[start + j]] += value * weights[start + j];
  });
}

// expected[cell] += value · posteriors[document, class]
template <class Entry>
void expect_lists(const CellDocuments<Entry>& X, int64_t chunk, int64_t part, int64_t parts, const double* posteriors,
                  double* expected) {
  each_listed(X.listed, chunk, part, parts, [&](int64_t document, double value, int64_t start, auto length) {
    const double* own = posteriors + document * X.stride;
    for (int32_t j = 0; j < length; ++j) expected[start + j] += value * own[X.list_classes[start + j]];
  });
}

// expected[row, from…from+4K) += value · posteriors[document, from…from+4K)
template <int K, class Entry>
void expect_block(PartRuns<Entry> some, const double* posteriors, int64_t stride, double* expected, int64_t width) {
  for (; some.run < some.stop; ++some.run) {
    const double* next = expected + some.run[kRunsAhead].term * width;
    for (int j = 0; j < K; j += 2) __builtin_prefetch(next + 4 * j);
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

// Replace scores by scale · score + offset, minus their maximum, so that their exponentials do not overflow; return
// that of the target.
inline double shift_scores(double* scores, const double* offset, int64_t stride, int32_t target, double scale) {
  Four most = load(offset) - INFINITY;
  for (int64_t c = 0; c < stride; c += 4) {
    const Four score = load(scores + c) * scale + load(offset + c);
    store(scores + c, score);
    most = score > most ? score : most;
  }
  const double largest = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
  for (int64_t c = 0; c < stride; c += 4) store(scores + c, load(scores + c) - largest);
  return scores[target];
}

// Divide the exponentials by their sum and multiply them by `factor`; return the sum.
inline double share_out(double* exponentials, int64_t stride, double factor) {
  Four sums = {};
  for (int64_t c = 0; c < stride; c += 4) sums += load(exponentials + c);
  const double total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (int64_t c = 0; c < stride; c += 4) store(exponentials + c, load(exponentials + c) * (factor / total));
  return total;
}

// Replace the scores of documents first … first + size by posteriors times weight and scale; likelihoods are weight ·
// log p(target). Each step processes several independent documents, so that the processor can overlap them.
template <class Entry>
void posteriors_of(const CellDocuments<Entry>& X, const Labels& labels, int64_t first, int64_t size, double* scores,
                   double* likelihoods) {
  const int64_t some = std::max<int64_t>(kBlockCells / X.stride, 1);
  for (int64_t start = 0; start < size; start += some, scores += some * X.stride) {
    const int64_t from = first + start, n = std::min(some, size - start);
    for (int64_t d = 0; d < n; ++d)
      likelihoods[from + d] =
          shift_scores(scores + d * X.stride, labels.offset, X.stride, labels.targets[from + d], X.scale[from + d]);
    for (int64_t c = 0; c < n * X.stride; c += 4) store(scores + c, exp_of(load(scores + c)));
    for (int64_t d = 0; d < n; ++d) {
      const double weight = labels.weight[from + d];
      const double total = share_out(scores + d * X.stride, X.stride, weight * X.scale[from + d]);
      likelihoods[from + d] = weight * (likelihoods[from + d] - unnaive::log_of(total));
    }
  }
}

// Compute the posteriors of the documents of a chunk, and the log-likelihood of each document.
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
  score_lists(X, chunk, weights + X.n_rows * X.width, scores);
  posteriors_of(X, labels, first, size, scores, likelihoods);
}

// Threads compute the posteriors chunk by chunk, then the sums part by part. Every sum has the same order of additions,
// so results do not depend on the number of threads.
template <class Entry>
double expectations(const CellDocuments<Entry>& X, const Labels& labels, const double* weights, double* expected,
                    int64_t threads) {
  const int64_t chunks = (X.size + X.chunk - 1) / X.chunk, cells = X.chunk * X.stride;
  const int64_t group = threads == 1 ? 1 : std::min(std::max<int64_t>(kGroupCells / cells, threads), chunks);
  unnaive::LongVector<double> space(group * cells + 8), likelihoods(X.size);
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
        expect_lists(X, chunk, part, parts, found, expected + X.n_rows * X.width);
      }
    });
  }
  double likelihood = 0.0;
  for (const double one : likelihoods) likelihood += one;
  return likelihood;
}
