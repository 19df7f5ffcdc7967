// Softmax with a Gaussian prior: setup, passes until the duality gap is small, results. The dual is that of Yu, Huang
// and Lin (2011), Dual coordinate descent methods for logistic regression and maximum entropy models; all dual
// variables of a document are moved together, to their exact minimum, by Newton's method.
#pragma once
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "_dual_jobs.h"
#include "_dual_random.h"
#include "_dual_state.h"

namespace unnaive {

constexpr double kNoClass = -1e300;   // score of a lane without a class
constexpr double kNegligible = 0.05;  // documents with a violation below this share of the mean are skipped
// factor by which the estimate during a pass exceeds the gap; about 15 on 20 Newsgroups
constexpr double kOverestimate = 10;
constexpr int32_t kBetweenValues = 20;  // passes between two exact computations of the gap, whatever the estimate
constexpr int64_t kBetweenLooks = 64;   // documents between two checks of the stop flag

template <typename Value>
struct SoftmaxProblem {
  const Documents<Value>& documents;
  int64_t n_terms, n_classes;
  LongVector<int32_t> targets;
  LongVector<double> penalty;  // C·weight of each document
  const double* prior;         // (n_classes, n_terms), or none
  const double* prior_bias;    // (n_classes,)
  double tol;
  int32_t max_iter;
  uint64_t seed;
};

struct SoftmaxResult {
  double *weights, *bias;  // (n_classes, n_terms), (n_classes,)
  SoftmaxValue value;
  int32_t n_iter;
  bool converged;
};

template <typename Value, typename Vector>
struct SoftmaxLoops {
  void (*add_scores)(const Rows<Value>&, const LanesOf<Vector>*, int64_t, Lanes*);
  void (*pass)(SoftmaxState<Value, Vector>&, const int32_t*, int64_t);
  SoftmaxValue (*value)(const SoftmaxState<Value, Vector>&);
};

template <typename Value, typename Vector>
class SoftmaxSolver {
 public:
  using Number = NumberOf<Vector>;
  static constexpr int kCount = kCountOf<Vector>;

  SoftmaxSolver(const SoftmaxProblem<Value>& problem, const SoftmaxLoops<Value, Vector>& loops)
      : problem_(problem),
        loops_(loops),
        weights_width_((problem.n_classes + kCount - 1) / kCount),
        width_(weights_width_ * (kCount / kLanes)),
        n_docs_(problem.documents.size()),
        weights_(problem.documents.n_terms() * weights_width_),
        change_(weights_width_),
        bias_(width_),
        posterior_(n_docs_ * width_),
        room_(4 * width_),
        own_(n_docs_),
        norm_(n_docs_),
        violation_(n_docs_),
        loss_(n_docs_),
        resting_(n_docs_) {
    set_offset();
    set_norms();
    set_posterior();
    Lanes* room = room_.data();
    state_ = {problem.documents.rows(),
              width_,
              weights_width_,
              problem.targets.data(),
              problem.penalty.data(),
              own_.data(),
              norm_.data(),
              offset_.data(),
              problem.prior ? width_ : 0,
              weights_.data(),
              bias_.data(),
              posterior_.data(),
              violation_.data(),
              loss_.data(),
              resting_.data(),
              0.0,
              room,
              room + width_,
              room + 2 * width_,
              room + 3 * width_,
              change_.data()};
  }

  void solve(Monitor& monitor) {
    Random random(problem_.seed, 0);
    for (passes_ = 0; passes_ < problem_.max_iter && !converged_;) {
      choose_documents();
      random.shuffle(order_);
      const auto size = static_cast<int64_t>(order_.size());
      for (int64_t i = 0; i < size && !monitor.stop; i += kBetweenLooks)
        loops_.pass(state_, order_.data() + i, std::min(kBetweenLooks, size - i));
      if (monitor.stop) return;
      ++passes_;
      monitor.violation = close_pass();
      ++monitor.passes;
    }
    if (!converged_) value_ = loops_.value(state_);
  }

  void write(SoftmaxResult& out) const {
    for_columns([&](int64_t column, int64_t c, int32_t term) {
      const int64_t cell = c * problem_.n_terms + column;
      out.weights[cell] = (problem_.prior ? problem_.prior[cell] : 0.0) + (term < 0 ? 0.0 : weight(term, c));
    });
    for (int64_t c = 0; c < problem_.n_classes; ++c) {
      for (const Entry& entry : problem_.documents.alone)
        out.weights[c * problem_.n_terms + entry.term] += multiple(entry.document, c) * entry.value;
      out.bias[c] = problem_.prior_bias[c] + lane(bias_, 0, c);
    }
    out.value = value_;
    out.n_iter = passes_;
    out.converged = converged_;
  }

 private:
  double lane(const LongVector<Lanes>& table, int64_t row, int64_t c) const {
    return table[row * width_ + c / kLanes].of[c % kLanes];
  }
  double weight(int64_t term, int64_t c) const { return weights_[term * weights_width_ + c / kCount].of[c % kCount]; }
  void put_weight(LongVector<LanesOf<Vector>>& table, int64_t term, int64_t c, double value) {
    table[term * weights_width_ + c / kCount].of[c % kCount] = static_cast<Number>(value);
  }
  void put(LongVector<Lanes>& table, int64_t row, int64_t c, double value) {
    table[row * width_ + c / kLanes].of[c % kLanes] = value;
  }
  // the coefficient of document d in the weights of class c
  double multiple(int64_t d, int64_t c) const {
    return problem_.penalty[d] * ((problem_.targets[d] == c) - lane(posterior_, d, c));
  }

  // Compute the scores by the prior alone. They are constant, so the passes multiply only the learnt part.
  void set_offset() {
    const int64_t n_rows = problem_.prior ? n_docs_ : 1;
    offset_.assign(n_rows * width_, Lanes{Four{kNoClass, kNoClass, kNoClass, kNoClass}});
    for (int64_t d = 0; d < n_rows; ++d)
      for (int64_t c = 0; c < problem_.n_classes; ++c) put(offset_, d, c, problem_.prior_bias[c]);
    if (problem_.prior) add_prior_scores();
  }

  // Call visit(column, class, term) for every cell of the caller's tables, where term is the solver's number of the
  // column, or −1. A block of columns stays in the cache, while rows by class and rows by term are read and written.
  template <typename Visit>
  void for_columns(const Visit& visit) const {
    constexpr int64_t kBlock = 32;
    LongVector<int32_t> terms(problem_.n_terms, -1);
    for (int64_t t = 0; t < problem_.documents.n_terms(); ++t)
      terms[problem_.documents.names[t]] = static_cast<int32_t>(t);
    for (int64_t first = 0; first < problem_.n_terms; first += kBlock) {
      const int64_t last = std::min(first + kBlock, problem_.n_terms);
      for (int64_t c = 0; c < problem_.n_classes; ++c)
        for (int64_t column = first; column < last; ++column) visit(column, c, terms[column]);
    }
  }

  void add_prior_scores() {
    LongVector<LanesOf<Vector>> prior(weights_.size());
    for_columns([&](int64_t column, int64_t c, int32_t term) {
      if (term >= 0) put_weight(prior, term, c, problem_.prior[c * problem_.n_terms + column]);
    });
    loops_.add_scores(problem_.documents.rows(), prior.data(), weights_width_, offset_.data());
    for (const Entry& entry : problem_.documents.alone)
      for (int64_t c = 0; c < problem_.n_classes; ++c) {
        const double weight = problem_.prior[c * problem_.n_terms + entry.term];
        put(offset_, entry.document, c, lane(offset_, entry.document, c) + weight * entry.value);
      }
    for (int64_t d = 0; d < n_docs_; ++d)
      for (int64_t c = 0; c < problem_.n_classes; ++c)
        if (!(std::fabs(lane(offset_, d, c)) < 1e250)) throw std::invalid_argument("a score by the prior overflows");
  }

  void set_norms() {
    for (const Entry& entry : problem_.documents.alone) own_[entry.document] += entry.value * entry.value;
    for (int64_t d = 0; d < n_docs_; ++d) {
      norm_[d] = 1 + own_[d] + problem_.documents.squares[d];
      if (!std::isfinite(norm_[d] * problem_.penalty[d]))
        throw std::invalid_argument("the squared length of a document overflows");
    }
  }

  // Each document begins with a posterior of 1 for its own class: no document contributes to the weights.
  void set_posterior() {
    for (int64_t d = 0; d < n_docs_; ++d) put(posterior_, d, problem_.targets[d], 1.0);
  }

  void choose_documents() {
    order_.clear();
    for (int64_t d = 0; d < n_docs_; ++d) {
      if (problem_.penalty[d] > 0 && !resting_[d]) order_.push_back(static_cast<int32_t>(d));
      resting_[d] = 0;
    }
  }

  // A problem has converged if its exact gap is within tol of the objective. Returns the estimated ratio of the two.
  double close_pass() {
    double violation = 0, loss = 0, live = 0;
    for (int64_t d = 0; d < n_docs_; ++d) violation += violation_[d], loss += loss_[d], live += problem_.penalty[d] > 0;
    state_.ignore_below = live > 0 ? kNegligible * violation / live : 0;
    if (violation <= kOverestimate * problem_.tol * loss || passes_ % kBetweenValues == 0) {
      value_ = loops_.value(state_);
      converged_ = value_.gap <= problem_.tol * (value_.loss + value_.penalty);
    }
    return loss > 0 ? violation / loss : 0;
  }

  const SoftmaxProblem<Value>& problem_;
  const SoftmaxLoops<Value, Vector> loops_;
  const int64_t weights_width_, width_, n_docs_;
  int32_t passes_ = 0;
  bool converged_ = false;
  SoftmaxValue value_;
  SoftmaxState<Value, Vector> state_{};
  LongVector<LanesOf<Vector>> weights_, change_;
  LongVector<Lanes> bias_, posterior_, room_, offset_;
  LongVector<double> own_, norm_, violation_, loss_;
  LongVector<uint8_t> resting_;
  LongVector<int32_t> order_;
};

}  // namespace unnaive
