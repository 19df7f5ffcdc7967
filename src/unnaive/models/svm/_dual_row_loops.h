// Products of one document with the weights of as many classes as a vector has lanes, or `width` times as many.
// Included once for each instruction set inside a namespace: no include guard, and nothing from the standard library.

constexpr int64_t kAhead = 2;          // documents between a prefetch and its use
constexpr int64_t kEntriesAhead = 32;  // entries between a prefetch of their weights and its use

inline Four four(double x) { return Four{x, x, x, x}; }
inline double lane_of(const Lanes* row, int c) { return row[c / kLanes].of[c % kLanes]; }
inline double total(Four x) { return (x[0] + x[1]) + (x[2] + x[3]); }

template <typename Value>
inline void prefetch_row(const Rows<Value>& rows, int64_t d) {
  for (int64_t k = rows.starts[d]; k < rows.starts[d + 1]; k += 16) {
    __builtin_prefetch(rows.terms + k);
    __builtin_prefetch(rows.values + k);
  }
}

// The term kEntriesAhead entries after entry k, or that of the last entry.
template <typename Value>
inline int32_t later_term(const Rows<Value>& rows, int64_t k, int64_t end) {
  return rows.terms[k + kEntriesAhead < end ? k + kEntriesAhead : end - 1];
}

// Two alternating sums, so that an addition need not wait for the previous one.
template <typename Value, typename Vector>
inline Vector row_product(const Rows<Value>& rows, int64_t d, const LanesOf<Vector>* weights) {
  using Number = NumberOf<Vector>;
  Vector even{}, odd{};
  int64_t k = rows.starts[d];
  const int64_t end = rows.starts[d + 1];
  for (; k + 1 < end; k += 2) {
    __builtin_prefetch(weights + later_term(rows, k, end));
    __builtin_prefetch(weights + later_term(rows, k + 1, end));
    even += weights[rows.terms[k]].of * static_cast<Number>(rows.values[k]);
    odd += weights[rows.terms[k + 1]].of * static_cast<Number>(rows.values[k + 1]);
  }
  if (k < end) even += weights[rows.terms[k]].of * static_cast<Number>(rows.values[k]);
  return even + odd;
}

template <typename Value, typename Vector>
inline void add_row(const Rows<Value>& rows, int64_t d, Vector change, LanesOf<Vector>* weights) {
  for (int64_t k = rows.starts[d]; k < rows.starts[d + 1]; ++k)
    weights[rows.terms[k]].of += change * static_cast<NumberOf<Vector>>(rows.values[k]);
}

template <typename Value, typename Vector>
inline void add_scaled_row(const Rows<Value>& rows, int64_t d, Vector change, const LanesOf<Vector>* scale,
                           LanesOf<Vector>* weights) {
  const int64_t end = rows.starts[d + 1];
  for (int64_t k = rows.starts[d]; k < end; ++k) {
    __builtin_prefetch(scale + later_term(rows, k, end));
    const int32_t t = rows.terms[k];
    weights[t].of += change * scale[t].of * static_cast<NumberOf<Vector>>(rows.values[k]);
  }
}

// Sums start from the values of `out`; in single precision they start from 0 and are added to `out` at the end.
inline Four sum_from(const Lanes* out, Four) { return out->of; }
inline Eight sum_from(const Lanes*, Eight) { return Eight{}; }
inline void put_sum(Lanes* out, Four sum) { out->of = sum; }
inline void put_sum(Lanes* out, Eight sum) {
  for (int c = 0; c < kLanes; ++c) out[0].of[c] += sum[c], out[1].of[c] += sum[kLanes + c];
}
// Convert the change from double precision to that of the weights.
inline void put_change(LanesOf<Four>* out, const Lanes* change) { out->of = change->of; }
inline void put_change(LanesOf<Eight>* out, const Lanes* change) {
  for (int c = 0; c < kLanes; ++c) {
    out->of[c] = static_cast<float>(change[0].of[c]);
    out->of[kLanes + c] = static_cast<float>(change[1].of[c]);
  }
}

// Sums over N vectors from `weights` on, with rows of `width`; the sums stay in registers.
template <int N, typename Value, typename Vector>
inline void add_products(const Rows<Value>& rows, int64_t d, const LanesOf<Vector>* weights, int64_t width,
                         Lanes* out) {
  constexpr int kFours = kCountOf<Vector> / kLanes;
  Vector sums[N];
  for (int v = 0; v < N; ++v) sums[v] = sum_from(out + v * kFours, Vector{});
  const int64_t end = rows.starts[d + 1];
  for (int64_t k = rows.starts[d]; k < end; ++k) {
    const LanesOf<Vector>*row = weights + rows.terms[k] * width, *later = weights + later_term(rows, k, end) * width;
    for (int v = 0; v < N; v += 2) __builtin_prefetch(later + v);
    const auto value = static_cast<NumberOf<Vector>>(rows.values[k]);
    for (int v = 0; v < N; ++v) sums[v] += row[v].of * value;
  }
  for (int v = 0; v < N; ++v) put_sum(out + v * kFours, sums[v]);
}

// Most vectors that are summed in one reading of a document: that many sums fit in the registers beside a product.
constexpr int kAtOnce = 12;

// Sums over the last vectors, of which there are `left`, at most N.
template <int N, typename Value, typename Vector>
inline void add_last_products(const Rows<Value>& rows, int64_t d, const LanesOf<Vector>* weights, int64_t width,
                              int64_t left, Lanes* out) {
  if constexpr (N > 0) {
    if (left == N)
      add_products<N>(rows, d, weights, width, out);
    else
      add_last_products<N - 1>(rows, d, weights, width, left, out);
  }
}

template <typename Value, typename Vector>
inline void add_row_products(const Rows<Value>& rows, int64_t d, const LanesOf<Vector>* weights, int64_t width,
                             Lanes* out) {
  constexpr int kFours = kCountOf<Vector> / kLanes;
  int64_t v = 0;
  for (; width - v > kAtOnce; v += 8) add_products<8>(rows, d, weights + v, width, out + v * kFours);
  add_last_products<kAtOnce>(rows, d, weights + v, width, width - v, out + v * kFours);
}

// Add the document times N vectors of changes, which stay in registers, to the weights.
template <int N, typename Value, typename Vector>
inline void add_changes(const Rows<Value>& rows, int64_t d, const LanesOf<Vector>* change, int64_t width,
                        LanesOf<Vector>* weights) {
  Vector changes[N];
  for (int v = 0; v < N; ++v) changes[v] = change[v].of;
  for (int64_t k = rows.starts[d]; k < rows.starts[d + 1]; ++k) {
    LanesOf<Vector>* row = weights + rows.terms[k] * width;
    const auto value = static_cast<NumberOf<Vector>>(rows.values[k]);
    for (int v = 0; v < N; ++v) row[v].of += changes[v] * value;
  }
}

template <int N, typename Value, typename Vector>
inline void add_last_changes(const Rows<Value>& rows, int64_t d, const LanesOf<Vector>* change, int64_t width,
                             int64_t left, LanesOf<Vector>* weights) {
  if constexpr (N > 0) {
    if (left == N)
      add_changes<N>(rows, d, change, width, weights);
    else
      add_last_changes<N - 1>(rows, d, change, width, left, weights);
  }
}

template <typename Value, typename Vector>
inline void add_row_to_all(const Rows<Value>& rows, int64_t d, const LanesOf<Vector>* change, int64_t width,
                           LanesOf<Vector>* weights) {
  int64_t v = 0;
  for (; width - v > kAtOnce; v += 8) add_changes<8>(rows, d, change + v, width, weights + v);
  add_last_changes<kAtOnce>(rows, d, change + v, width, width - v, weights + v);
}
