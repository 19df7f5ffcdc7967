// One pass over the documents for generalised iterative scaling (cells.py), compiled once for each instruction set:
// included in two namespaces of _products.cpp, so no guard. For every document: its scores, its posteriors, and what
// these expect of every cell. Terms that most classes have are rows of a table, the others short lists of cells.

// sums[0…4K) += Σ_k values[k] · table[columns[k], from…from+4K)
template <int K, typename Index>
void gather_block(const Csr<Index>& X, int64_t d, const double* table, double* sums, int64_t width, int64_t from) {
  Four held[K];
  for (int j = 0; j < K; ++j) held[j] = load(sums + from + 4 * j);
  const Index stop = X.starts[d + 1];
  for (Index k = X.starts[d]; k < stop; ++k) {
    const double* row = table + static_cast<int64_t>(X.columns[k]) * width + from;
    const double x = X.values[k];
    for (int j = 0; j < K; ++j) held[j] += x * load(row + 4 * j);
  }
  for (int j = 0; j < K; ++j) store(sums + from + 4 * j, held[j]);
}

// table[columns[k], from…from+4K) += values[k] · row[0…4K)
template <int K, typename Index>
void scatter_block(const Csr<Index>& X, int64_t d, double* table, const double* row, int64_t width, int64_t from) {
  Four held[K];
  for (int j = 0; j < K; ++j) held[j] = load(row + from + 4 * j);
  const Index stop = X.starts[d + 1];
  for (Index k = X.starts[d]; k < stop; ++k) {
    double* target = table + static_cast<int64_t>(X.columns[k]) * width + from;
    const double x = X.values[k];
    for (int j = 0; j < K; ++j) store(target + 4 * j, load(target + 4 * j) + x * held[j]);
  }
}

template <typename Index>
void gather(const Csr<Index>& X, int64_t d, const double* table, double* sums, int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) gather_block<5>(X, d, table, sums, width, from);
  for (; width - from >= 8; from += 8) gather_block<2>(X, d, table, sums, width, from);
  for (; width - from >= 4; from += 4) gather_block<1>(X, d, table, sums, width, from);
  for (; from < width; ++from)
    for (Index k = X.starts[d]; k < X.starts[d + 1]; ++k)
      sums[from] += X.values[k] * table[static_cast<int64_t>(X.columns[k]) * width + from];
}

template <typename Index>
void scatter(const Csr<Index>& X, int64_t d, double* table, const double* row, int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) scatter_block<5>(X, d, table, row, width, from);
  for (; width - from >= 8; from += 8) scatter_block<2>(X, d, table, row, width, from);
  for (; width - from >= 4; from += 4) scatter_block<1>(X, d, table, row, width, from);
  for (; from < width; ++from)
    for (Index k = X.starts[d]; k < X.starts[d + 1]; ++k)
      table[static_cast<int64_t>(X.columns[k]) * width + from] += X.values[k] * row[from];
}

// sums[class] += Σ_k values[k] · weight, over the cells of each term
template <typename Index>
void gather_lists(const Csr<Index>& X, int64_t d, const Lists& lists, const double* weights, double* sums) {
  const Index last = X.starts[X.rows];
  for (Index k = X.starts[d]; k < X.starts[d + 1]; ++k) {
    const double x = X.values[k];
    const int64_t stop = lists.starts[X.columns[k] + 1];
    if (k + 2 * kAhead < last) {
      __builtin_prefetch(lists.starts + X.columns[k + 2 * kAhead]);
      __builtin_prefetch(weights + lists.starts[X.columns[k + kAhead]]);
      __builtin_prefetch(lists.classes + lists.starts[X.columns[k + kAhead]]);
    }
    for (int64_t j = lists.starts[X.columns[k]]; j < stop; ++j) sums[lists.classes[j]] += x * weights[j];
  }
}

template <typename Index>
void scatter_lists(const Csr<Index>& X, int64_t d, const Lists& lists, double* cells, const double* row) {
  for (Index k = X.starts[d]; k < X.starts[d + 1]; ++k) {
    const double x = X.values[k];
    const int64_t stop = lists.starts[X.columns[k] + 1];
    for (int64_t j = lists.starts[X.columns[k]]; j < stop; ++j) cells[j] += x * row[lists.classes[j]];
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

template <typename Index>
double expectations(const Csr<Index>& rows, const Csr<Index>& listed, const Lists& lists, const Documents& documents,
                    const double* weights, double* expected, int64_t width, int64_t n_table) {
  std::vector<double> scores(width);
  double likelihood = 0.0;
  for (int64_t d = 0; d < rows.rows; ++d) {
    std::copy(documents.offset, documents.offset + width, scores.begin());
    gather(rows, d, weights, scores.data(), width);
    gather_lists(listed, d, lists, weights + n_table, scores.data());
    likelihood += posteriors(scores.data(), width, documents.targets[d], documents.weight[d]);
    scatter(rows, d, expected, scores.data(), width);
    scatter_lists(listed, d, lists, expected + n_table, scores.data());
  }
  return likelihood;
}
