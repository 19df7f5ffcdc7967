// One pass over the documents for generalised iterative scaling (cells.py), compiled once for each instruction set:
// included in two namespaces of _products.cpp, so no guard. Documents come in chunks whose scores fit the second-level
// cache, the entries of a chunk by term: what belongs to a term is loaded once, and all else is near.

// scores[document, from…from+4K) += value · weights[term, from…from+4K), over the entries of a chunk
template <int K>
void add_rows(const Entries& X, int64_t k, int64_t stop, const double* weights, double* scores, int64_t width,
              int64_t from) {
  while (k < stop) {
    const int32_t term = X.terms[k];
    Four row[K];
    for (int j = 0; j < K; ++j) row[j] = load(weights + term * width + from + 4 * j);
    do {
      const double x = X.values[k];
      double* own = scores + X.documents[k] * width + from;
      for (int j = 0; j < K; ++j) store(own + 4 * j, load(own + 4 * j) + x * row[j]);
    } while (++k < stop && X.terms[k] == term);
  }
}

// expected[term, from…from+4K) += value · posteriors[document, from…from+4K)
template <int K>
void expect_rows(const Entries& X, int64_t k, int64_t stop, const double* posteriors, double* expected, int64_t width,
                 int64_t from) {
  while (k < stop) {
    const int32_t term = X.terms[k];
    Four row[K];
    for (int j = 0; j < K; ++j) row[j] = load(expected + term * width + from + 4 * j);
    do {
      const double x = X.values[k];
      const double* own = posteriors + X.documents[k] * width + from;
      for (int j = 0; j < K; ++j) row[j] += x * load(own + 4 * j);
    } while (++k < stop && X.terms[k] == term);
    for (int j = 0; j < K; ++j) store(expected + term * width + from + 4 * j, row[j]);
  }
}

inline void add_rows(const Entries& X, int64_t k, int64_t stop, const double* weights, double* scores, int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) add_rows<5>(X, k, stop, weights, scores, width, from);
  for (; width - from >= 8; from += 8) add_rows<2>(X, k, stop, weights, scores, width, from);
  for (; width - from >= 4; from += 4) add_rows<1>(X, k, stop, weights, scores, width, from);
  for (; from < width; ++from)
    for (int64_t i = k; i < stop; ++i)
      scores[X.documents[i] * width + from] += X.values[i] * weights[X.terms[i] * width + from];
}

inline void expect_rows(const Entries& X, int64_t k, int64_t stop, const double* posteriors, double* expected,
                        int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) expect_rows<5>(X, k, stop, posteriors, expected, width, from);
  for (; width - from >= 8; from += 8) expect_rows<2>(X, k, stop, posteriors, expected, width, from);
  for (; width - from >= 4; from += 4) expect_rows<1>(X, k, stop, posteriors, expected, width, from);
  for (; from < width; ++from)
    for (int64_t i = k; i < stop; ++i)
      expected[X.terms[i] * width + from] += X.values[i] * posteriors[X.documents[i] * width + from];
}

inline void add_lists(const Entries& X, int64_t k, int64_t stop, const Lists& lists, const double* weights,
                      double* scores, int64_t width) {
  for (; k < stop; ++k) {
    const double x = X.values[k];
    double* own = scores + X.documents[k] * width;
    const int64_t end = lists.starts[X.terms[k] + 1];
    for (int64_t j = lists.starts[X.terms[k]]; j < end; ++j) own[lists.classes[j]] += x * weights[j];
  }
}

inline void expect_lists(const Entries& X, int64_t k, int64_t stop, const Lists& lists, const double* posteriors,
                         double* expected, int64_t width) {
  for (; k < stop; ++k) {
    const double x = X.values[k];
    const double* own = posteriors + X.documents[k] * width;
    const int64_t end = lists.starts[X.terms[k] + 1];
    for (int64_t j = lists.starts[X.terms[k]]; j < end; ++j) expected[j] += x * own[lists.classes[j]];
  }
}

// scores become posteriors, each times `weight`; returns weight · log p(target)
inline double posteriors(double* scores, int64_t width, int32_t target, double weight) {
  double most = scores[0];
  for (int64_t c = 1; c < width; ++c) most = scores[c] > most ? scores[c] : most;
  const double own = scores[target] - most;
  double total = 0.0;
  for (int64_t c = 0; c < width; ++c) total += scores[c] = std::exp(scores[c] - most);
  for (int64_t c = 0; c < width; ++c) scores[c] *= weight / total;
  return weight * (own - std::log(total));
}

// The scores of the documents of a chunk, then their posteriors; the log-likelihood of each document.
inline void chunk_posteriors(const Entries& rows, const Entries& listed, const Lists& lists, const Documents& documents,
                             const double* weights, int64_t width, int64_t n_table, int64_t chunk, double* scores,
                             double* likelihoods) {
  const int64_t first = chunk * documents.chunk;
  const int64_t size = std::min(documents.chunk, documents.size - first);
  for (int64_t d = 0; d < size; ++d) std::copy(documents.offset, documents.offset + width, scores + d * width);
  add_rows(rows, rows.starts[chunk], rows.starts[chunk + 1], weights, scores, width);
  add_lists(listed, listed.starts[chunk], listed.starts[chunk + 1], lists, weights + n_table, scores, width);
  for (int64_t d = 0; d < size; ++d)
    likelihoods[first + d] =
        posteriors(scores + d * width, width, documents.targets[first + d], documents.weight[first + d]);
}

// Chunks first … last − 1 give what they expect of some of the terms, in their order, whoever works on the others.
inline void chunk_expectations(const Entries& rows, const Entries& listed, const Lists& lists, Part row_terms,
                               Part list_terms, int64_t first, int64_t last, const double* room, int64_t stride,
                               double* expected, int64_t width, int64_t n_table) {
  for (int64_t chunk = first; chunk < last; ++chunk) {
    const double* scores = room + (chunk - first) * stride;
    const Part some = entries_of(rows, chunk, row_terms), others = entries_of(listed, chunk, list_terms);
    expect_rows(rows, some.from, some.to, scores, expected, width);
    expect_lists(listed, others.from, others.to, lists, scores, expected + n_table, width);
  }
}

// Threads take chunks for the posteriors, then terms for the sums: every number is added up in the same order, so that
// results do not depend on how many threads there are.
inline double expectations(const Entries& rows, const Entries& listed, const Lists& lists, const Documents& documents,
                           const double* weights, double* expected, int64_t width, int64_t n_table, int64_t threads) {
  const int64_t chunks = (documents.size + documents.chunk - 1) / documents.chunk;
  const int64_t stride = (documents.chunk * width + 7) / 8 * 8;
  const int64_t group = threads == 1 ? 1 : std::min(std::max<int64_t>(kGroupCells / stride, threads), chunks);
  std::vector<double> space(group * stride + 8), likelihoods(documents.size);
  double* room = space.data() + (8 - reinterpret_cast<uintptr_t>(space.data()) / sizeof(double) % 8) % 8;
  for (int64_t first = 0; first < chunks; first += group) {
    const int64_t last = std::min(first + group, chunks);
    in_threads(threads, last - first, [&](int64_t i) {
      chunk_posteriors(rows, listed, lists, documents, weights, width, n_table, first + i, room + i * stride,
                       likelihoods.data());
    });
    const int64_t jobs = threads == 1 ? 1 : 8 * threads;
    in_threads(threads, jobs, [&](int64_t i) {
      chunk_expectations(rows, listed, lists, terms_of(rows, first, i, jobs), terms_of(listed, first, i, jobs), first,
                         last, room, stride, expected, width, n_table);
    });
  }
  double likelihood = 0.0;
  for (const double one : likelihoods) likelihood += one;
  return likelihood;
}
