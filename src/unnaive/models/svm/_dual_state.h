// What the inner loops of the solvers work on. Weights of several classes lie side by side, four in double or eight in
// single precision: one read of a document's entries serves them all.
#pragma once
#include <cstdint>

#include "_dual_rows.h"

namespace unnaive {

constexpr int kLanes = 4;

typedef double Four __attribute__((vector_size(32)));
typedef float Eight __attribute__((vector_size(32)));

template <typename Vector>
struct LaneTraits;
template <>
struct LaneTraits<Four> {
  using Number = double;
  static constexpr int kCount = 4;
};
template <>
struct LaneTraits<Eight> {
  using Number = float;
  static constexpr int kCount = 8;
};
template <typename Vector>
using NumberOf = typename LaneTraits<Vector>::Number;
template <typename Vector>
constexpr int kCountOf = LaneTraits<Vector>::kCount;

// What is kept or handed on: a bare vector is aligned to 32 bytes only where the processor has such registers.
template <typename Vector>
struct alignas(32) LanesOf {
  Vector of;
};
using Lanes = LanesOf<Four>;

// A document in as many binary problems as there are lanes. Its gradient in each: sign·score − 1 + diagonal·alpha
template <typename Vector>
struct alignas(32) HingeItem {
  Vector alpha, sign;
  Vector diagonal;  // 1 / (2·penalty), and the squares of the entries that no other document has
  Vector step;      // over-relaxation / (squared length of the document + 1 / (2·penalty))
};

template <typename Value, typename Vector>
struct HingeBlock {
  Rows<Value> rows;
  HingeItem<Vector>* items;
  uint8_t* active;                       // bit c: the document is not shrunk in problem c
  uint8_t* resting;                      // the document sits out the next pass
  LanesOf<Vector>* weights;              // (n_terms,)
  const LanesOf<Vector>* squared_scale;  // (n_terms,), or none
  LanesOf<Vector> bias;
  unsigned open;  // bit c: problem c has not converged
  double shrink_above[kCountOf<Vector>], ignore_below[kCountOf<Vector>];
  // of one pass: the largest and smallest projected gradient (or 0), and how many documents stayed active
  double high[kCountOf<Vector>], low[kCountOf<Vector>];
  int64_t visited[kCountOf<Vector>];
};

// All arrays with a `width` of classes / 4, rounded up; the lanes of no class have scores of −∞ and are never moved.
// Weights may be in single precision, and then have half the width: what is made of them is in double precision.
template <typename Value, typename Vector>
struct SoftmaxState {
  Rows<Value> rows;
  int64_t width;
  int64_t weights_width;
  const int32_t* targets;
  const double* penalty;  // C·weight of each document
  const double* own;      // squares of the entries that no other document has
  const double* norm;     // squared length, the bias included
  const Lanes* offset;    // scores by the prior, (n_docs, width), or one row for all
  int64_t offset_stride;
  LanesOf<Vector>* weights;  // less those of the prior, (n_terms, weights_width)
  Lanes* bias;               // (width,)
  Lanes* posterior;          // dual variables / penalty, (n_docs, width)
  double* violation;         // bound of each document's part of the duality gap, when it was last visited
  double* loss;              // of each document, when it was last visited
  uint8_t* resting;
  double ignore_below;
  Lanes *scores, *logs, *moved, *target;  // room for one document
  LanesOf<Vector>* change;                // the same, in the precision of the weights
};

struct SoftmaxValue {
  double loss = 0, penalty = 0, gap = 0;
};

}  // namespace unnaive
