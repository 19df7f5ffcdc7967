// One pass of dual coordinate descent over documents for the softmax: the dual variables of a document, one for each
// class, are moved together. Included like _dual_row_loops.h.

#include "../../base/_exp_vector.h"

// The loops over classes take as many at once as a register holds: Wide is Four, or EightDoubles with AVX-512. Sums are
// over four lanes in either case, so that additions have the same order, and results the same bits.
constexpr int64_t kStep = sizeof(Wide) / sizeof(Four);

inline Wide load(const Lanes* row) {
  Wide x;
  __builtin_memcpy(&x, row, sizeof(Wide));
  return x;
}
inline void store(Lanes* row, Wide x) { __builtin_memcpy(row, &x, sizeof(Wide)); }
inline void add_lanes(Four& sum, Four x) { sum += x; }
#ifdef UNNAIVE_AVX512
inline void add_lanes(Four& sum, EightDoubles x) {
  sum += __builtin_shufflevector(x, x, 0, 1, 2, 3);
  sum += __builtin_shufflevector(x, x, 4, 5, 6, 7);
}
#endif

// scores = bias + scores by the prior + weights·document; a term that only this document has contributes its square
// times penalty·(1[y] − posterior)
template <typename Value, typename Vector>
inline void softmax_scores(const SoftmaxState<Value, Vector>& s, int64_t d) {
  const Lanes *offset = s.offset + d * s.offset_stride, *posterior = s.posterior + d * s.width;
  const double own = s.own[d] * s.penalty[d];
  for (int64_t v = 0; v < s.width; v += kStep)
    store(s.scores + v, load(s.bias + v) + load(offset + v) - own * load(posterior + v));
  s.scores[s.targets[d] / kLanes].of[s.targets[d] % kLanes] += own;
  add_row_products(s.rows, d, s.weights, s.weights_width, s.scores);
}

// Set `moved` to the softmax of the scores and `logs` to its logarithm. Returns log Σ exp score.
template <typename Value, typename Vector>
inline double softmax_of_scores(const SoftmaxState<Value, Vector>& s) {
  Four highest = s.scores[0].of;
  for (int64_t v = 1; v < s.width; ++v) highest = s.scores[v].of > highest ? s.scores[v].of : highest;
  double top = highest[0];
  for (int c = 1; c < kLanes; ++c) top = highest[c] > top ? highest[c] : top;
  Four sums = four(0);
  for (int64_t v = 0; v < s.width; v += kStep) {
    const Wide power = exp_of(load(s.scores + v) - top);
    store(s.moved + v, power);
    add_lanes(sums, power);
  }
  const double sum = total(sums), log_sum = unnaive::log_of(sum) + top;
  for (int64_t v = 0; v < s.width; v += kStep) {
    store(s.moved + v, load(s.moved + v) / sum);
    store(s.logs + v, load(s.scores + v) - log_sum);
  }
  return log_sum;
}

// Σ (p − q)²/q ≥ KL(p‖q), where p is the posterior and q the softmax of the scores: a bound of the document's part of
// the gap / penalty. It is capped, so that one document far from its optimum does not make all others look converged.
template <typename Value, typename Vector>
inline double divergence(const SoftmaxState<Value, Vector>& s, const Lanes* posterior) {
  Four sum = four(0);
  for (int64_t v = 0; v < s.width; v += kStep) {
    const Wide q = load(s.moved + v), apart = load(posterior + v) - q;
    add_lanes(sum, apart * apart / (q + 1e-300));
  }
  return total(sum) < 1e3 ? total(sum) : 1e3;
}

// A step of Newton's method for log p + Q·p = target − λ, Σp = 1, in log p and λ. Returns Σ|change of p|.
template <typename Value, typename Vector>
inline double newton_step(const SoftmaxState<Value, Vector>& s, double Q) {
  Four sum = four(0), slopes = four(0), rest = four(0);
  for (int64_t v = 0; v < s.width; v += kStep) {
    const Wide p = load(s.moved + v), slope = p / (1 + Q * p);
    add_lanes(sum, p);
    add_lanes(slopes, slope);
    add_lanes(rest, slope * (load(s.target + v) - load(s.logs + v) - Q * p));
  }
  const double lambda = (total(sum) - 1 + total(rest)) / total(slopes);
  Four changed = four(0);
  for (int64_t v = 0; v < s.width; v += kStep) {
    const Wide p = load(s.moved + v), before = load(s.logs + v);
    const Wide wanted = before + (load(s.target + v) - before - Q * p - lambda) / (1 + Q * p);
    const Wide logs = wanted > 0 ? Wide{} : wanted, moved = exp_of(logs), change = moved - p;
    store(s.logs + v, logs);
    store(s.moved + v, moved);
    add_lanes(changed, change < 0 ? -change : change);
  }
  return total(changed);
}

// Write the posterior that minimises the dual, with all other documents fixed, to `moved`.
template <typename Value, typename Vector>
inline void best_posterior(const SoftmaxState<Value, Vector>& s, const Lanes* posterior, double Q) {
  constexpr int kMost = 50;  // at most 23 steps were needed for Q from 1e-6 to 1e6 and scores up to ±1000
  for (int64_t v = 0; v < s.width; v += kStep) store(s.target + v, load(s.scores + v) + Q * load(posterior + v));
  double first = newton_step(s, Q), last = first;
  for (int i = 1; i < kMost && last > 1e-3 * first && last > 1e-13; ++i) last = newton_step(s, Q);
  Four sum = four(0);
  for (int64_t v = 0; v < s.width; v += kStep) add_lanes(sum, load(s.moved + v));
  const double scale = 1 / total(sum);
  for (int64_t v = 0; v < s.width; v += kStep) store(s.moved + v, load(s.moved + v) * scale);
}

// Add the scores of all documents by a table of weights (n_docs, width in vectors of four).
template <typename Value, typename Vector>
void add_scores(const Rows<Value>& rows, const LanesOf<Vector>* weights, int64_t width, Lanes* out) {
  constexpr int kFours = kCountOf<Vector> / kLanes;
  for (int64_t d = 0; d < rows.size; ++d) add_row_products(rows, d, weights, width, out + d * width * kFours);
}

// Documents are visited in random order, so the processor cannot foresee which rows of the tables are needed.
template <typename Value, typename Vector>
inline void prefetch_document(const SoftmaxState<Value, Vector>& s, int64_t d) {
  prefetch_row(s.rows, d);
  for (int64_t v = 0; v < s.width; v += 2) {
    __builtin_prefetch(s.posterior + d * s.width + v, 1);
    __builtin_prefetch(s.offset + d * s.offset_stride + v);
  }
}

template <typename Value, typename Vector>
void softmax_pass(SoftmaxState<Value, Vector>& s, const int32_t* order, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) prefetch_document(s, order[i + kAhead]);
    const int64_t d = order[i];
    Lanes* posterior = s.posterior + d * s.width;
    softmax_scores(s, d);
    softmax_of_scores(s);
    const double apart = s.penalty[d] * divergence(s, posterior);
    s.violation[d] = apart;
    s.loss[d] = -s.penalty[d] * lane_of(s.logs, s.targets[d]);
    s.resting[d] = apart <= s.ignore_below;
    if (s.resting[d]) continue;
    best_posterior(s, posterior, s.penalty[d] * s.norm[d]);
    for (int64_t v = 0; v < s.width; v += kStep) {
      const Wide moved = load(s.moved + v), change = s.penalty[d] * (load(posterior + v) - moved);
      store(posterior + v, moved);
      store(s.bias + v, load(s.bias + v) + change);
      store(s.target + v, change);
    }
    constexpr int kFours = kCountOf<Vector> / kLanes;
    for (int64_t v = 0; v < s.weights_width; ++v) put_change(s.change + v, s.target + v * kFours);
    add_row_to_all(s.rows, d, s.change, s.weights_width, s.weights);
  }
}

// A document's parts of the loss, of ½‖W − W0‖² and of the gap, penalty·KL(posterior‖softmax)
template <typename Value, typename Vector>
inline SoftmaxValue softmax_value(const SoftmaxState<Value, Vector>& s, int64_t d) {
  const Lanes *posterior = s.posterior + d * s.width, *offset = s.offset + d * s.offset_stride;
  const int y = s.targets[d];
  softmax_scores(s, d);
  const double log_sum = softmax_of_scores(s), penalty = s.penalty[d];
  double squares = lane_of(s.scores, y) - lane_of(offset, y), gap = log_sum;
  for (int c = 0; c < s.width * kLanes; ++c) {
    const double p = lane_of(posterior, c), score = lane_of(s.scores, c);
    if (!(p > 0)) continue;
    squares -= p * (score - lane_of(offset, c));
    gap += p * (unnaive::log_of(p) - score);
  }
  return {penalty * (log_sum - lane_of(s.scores, y)), 0.5 * penalty * squares, penalty * gap};
}

template <typename Value, typename Vector>
SoftmaxValue softmax_total(const SoftmaxState<Value, Vector>& s) {
  SoftmaxValue sum;
  for (int64_t d = 0; d < s.rows.size; ++d) {
    if (!(s.penalty[d] > 0)) continue;
    const SoftmaxValue part = softmax_value(s, d);
    sum.loss += part.loss, sum.penalty += part.penalty, sum.gap += part.gap;
  }
  return sum;
}
