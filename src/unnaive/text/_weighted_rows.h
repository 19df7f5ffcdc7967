// Sums of weighted rows, compiled once for each instruction set: included in two namespaces of _products.cpp and of the
// kernel, so there is no include guard. Multiply-adds are not fused, so results do not depend on the processor.

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
typedef float FourSingles __attribute__((vector_size(16), aligned(4), may_alias));

inline Four load(const double* at) { return *reinterpret_cast<const Four*>(at); }
inline Four load(const float* at) { return __builtin_convertvector(*reinterpret_cast<const FourSingles*>(at), Four); }
inline void store(double* at, Four value) { *reinterpret_cast<Four*>(at) = value; }

// sums[from…from+4K) = Σ_k value_k · weights[row_k, from…from+4K)
template <int K, typename Weight>
void sum_rows(const Weighted* cells, int64_t size, const Weight* weights, double* sums, int64_t width, int64_t from) {
  weights += from;
  Four found[K] = {};
  for (int64_t k = 0; k < size; ++k) {
    const Weight* row = weights + cells[k].row * width;
    if (k + kAhead < size) {
      const Weight* later = weights + cells[k + kAhead].row * width;
      __builtin_prefetch(later);
      __builtin_prefetch(later + 4 * K - 1);
    }
    for (int j = 0; j < K; ++j) found[j] += cells[k].value * load(row + 4 * j);
  }
  for (int j = 0; j < K; ++j) store(sums + from + 4 * j, found[j]);
}

// The same for K remaining columns, fewer than a vector has.
template <int K, typename Weight>
void sum_columns(const Weighted* cells, int64_t size, const Weight* weights, double* sums, int64_t width,
                 int64_t from) {
  weights += from;
  double found[K] = {};
  for (int64_t k = 0; k < size; ++k) {
    const Weight* row = weights + cells[k].row * width;
    if (k + kAhead < size) __builtin_prefetch(weights + cells[k + kAhead].row * width);
    for (int j = 0; j < K; ++j) found[j] += cells[k].value * static_cast<double>(row[j]);
  }
  for (int j = 0; j < K; ++j) sums[from + j] = found[j];
}

// out[c] += Σ_k value_k · weights[row_k, c] / length
template <typename Weight>
void add_rows(const Weighted* cells, int64_t size, double length, const Weight* weights, double* sums, double* out,
              int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) sum_rows<5>(cells, size, weights, sums, width, from);
  for (; width - from >= 12; from += 12) sum_rows<3>(cells, size, weights, sums, width, from);
  for (; width - from >= 8; from += 8) sum_rows<2>(cells, size, weights, sums, width, from);
  for (; width - from >= 4; from += 4) sum_rows<1>(cells, size, weights, sums, width, from);
  if (width - from == 3) sum_columns<3>(cells, size, weights, sums, width, from);
  if (width - from == 2) sum_columns<2>(cells, size, weights, sums, width, from);
  if (width - from == 1) sum_columns<1>(cells, size, weights, sums, width, from);
  for (int64_t c = 0; c < width; ++c) out[c] += sums[c] / length;
}
