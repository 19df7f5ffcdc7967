// The state of the inner loops. The weights of several classes are adjacent, four in double or eight in single
// precision, so that one read of a document's entries serves all of them.
#pragma once
#include <cstdint>

#include "_dual_rows.h"

namespace unnaive {

constexpr int kLanes = 4;

typedef double Four __attribute__((vector_size(32)));
typedef float Eight __attribute__((vector_size(32)));
typedef double EightDoubles __attribute__((vector_size(64)));

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

template <typename Vector>
using MaskOf = decltype(Vector{} < Vector{});  // whole numbers of the same size: −1 for true, 0 for false

// A vector for storing and passing on: a bare vector is aligned to 32 bytes only if the processor has such registers.
template <typename Vector>
struct alignas(32) LanesOf {
  Vector of;
};
using Lanes = LanesOf<Four>;

// A document in as many binary problems as there are lanes. Its gradient in each is sign·score − 1 + diagonal·alpha
template <typename Vector>
struct alignas(32) HingeItem {
  Vector alpha, sign;
  Vector diagonal;  // 1 / (2·penalty) + Σ squares of the entries whose terms no other document has
  Vector step;      // over-relaxation / (squared length of the document + 1 / (2·penalty))
};

template <typename Value, typename Vector>
struct HingeBlock {
  Rows<Value> rows;
  HingeItem<Vector>* items;
  uint8_t* active;                       // bit c is set if the document is not shrunk in problem c
  uint8_t* resting;                      // the document is skipped in the next pass
  LanesOf<Vector>* weights;              // (n_terms,)
  const LanesOf<Vector>* squared_scale;  // (n_terms,), or none
  LanesOf<Vector> bias;
  unsigned open;  // bit c is set if problem c has not converged
  LanesOf<Vector> shrink_above, ignore_below;
  // in one pass: the largest and smallest projected gradient (or 0), and the number of documents that stayed active
  LanesOf<Vector> high, low;
  LanesOf<MaskOf<Vector>> visited;
};

// Arrays have a `width` of classes / 4, rounded up; lanes without a class have scores of −∞ and are never moved.
// Weights may be in single precision with half the width; everything computed from them is in double precision.
template <typename Value, typename Vector>
struct SoftmaxState {
  Rows<Value> rows;
  int64_t width;
  int64_t weights_width;
  const int32_t* targets;
  const double* penalty;  // C·weight of each document
  const double* own;      // Σ squares of the entries whose terms no other document has
  const double* norm;     // squared length, including the bias
  const Lanes* offset;    // scores by the prior, (n_docs, width), or one row for all documents
  int64_t offset_stride;
  LanesOf<Vector>* weights;  // minus those of the prior, (n_terms, weights_width)
  Lanes* bias;               // (width,)
  Lanes* posterior;          // dual variables / penalty, (n_docs, width)
  double* violation;         // bound of each document's part of the duality gap at its last visit
  double* loss;              // loss of each document at its last visit
  uint8_t* resting;
  double ignore_below;
  Lanes *scores, *logs, *moved, *target;  // buffers for one document
  LanesOf<Vector>* change;                // buffer for one document in the precision of the weights
};

struct SoftmaxValue {
  double loss = 0, penalty = 0, gap = 0;
};

}  // namespace unnaive
