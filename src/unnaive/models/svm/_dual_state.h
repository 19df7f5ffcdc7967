// What the inner loops of the solvers work on. Weights of four classes lie side by side: one read of a document's
// entries serves four classes.
#pragma once
#include <cstdint>

#include "_dual_rows.h"

namespace unnaive {

constexpr int kLanes = 4;

typedef double Four __attribute__((vector_size(32)));

// What is kept or handed on: a bare vector is aligned to 32 bytes only where the processor has such registers.
struct alignas(32) Lanes {
  Four of;
};

// A document in four binary problems. Its gradient in each: sign·score − 1 + diagonal·alpha
struct alignas(32) HingeItem {
  Four alpha, sign;
  Four diagonal;  // 1 / (2·penalty), and the squares of the entries that no other document has
  Four step;      // over-relaxation / (squared length of the document + 1 / (2·penalty))
};

template <typename Value>
struct HingeBlock {
  Rows<Value> rows;
  HingeItem* items;
  uint8_t* active;             // bit c: the document is not shrunk in problem c
  uint8_t* resting;            // the document sits out the next pass
  Lanes* weights;              // (n_terms,)
  const Lanes* squared_scale;  // (n_terms,), or none
  Lanes bias;
  unsigned open;  // bit c: problem c has not converged
  double shrink_above[kLanes], ignore_below[kLanes];
  // of one pass: the largest and smallest projected gradient (or 0), and how many documents stayed active
  double high[kLanes], low[kLanes];
  int64_t visited[kLanes];
};

// All arrays with a `width` of classes / 4, rounded up; the lanes of no class have scores of −∞ and are never moved.
template <typename Value>
struct SoftmaxState {
  Rows<Value> rows;
  int64_t width;
  const int32_t* targets;
  const double* penalty;  // C·weight of each document
  const double* own;      // squares of the entries that no other document has
  const double* norm;     // squared length, the bias included
  const Lanes* offset;    // scores by the prior, (n_docs, width), or one row for all
  int64_t offset_stride;
  Lanes* weights;     // less those of the prior, (n_terms, width)
  Lanes* bias;        // (width,)
  Lanes* posterior;   // dual variables / penalty, (n_docs, width)
  double* violation;  // bound of each document's part of the duality gap, when it was last visited
  double* loss;       // of each document, when it was last visited
  uint8_t* resting;
  double ignore_below;
  Lanes *scores, *logs, *moved, *target;  // room for one document
};

struct SoftmaxValue {
  double loss = 0, penalty = 0, gap = 0;
};

}  // namespace unnaive
