// Outputs of a fastText model → its decision, probabilities and k best labels, in fastText's 32-bit arithmetic.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "_fasttext_heap.h"
#include "_fasttext_simd.h"

namespace unnaive {

enum class Loss { kTree = 1, kNegative = 2, kSoftmax = 3, kOneVsAll = 4 };

using Ranked = std::vector<std::pair<float, int32_t>>;  // log-probability, label

inline float fasttext_log(float x) { return static_cast<float>(std::log(x + 1e-5)); }

// fastText's lookup table of the logistic function: 512 steps over [−8, 8].
struct SigmoidTable {
  float values[513];
  SigmoidTable() {
    for (int i = 0; i <= 512; ++i) {
      const float x = static_cast<float>(i * 2 * 8) / 512 - 8;
      values[i] = static_cast<float>(1.0 / (1.0 + std::exp(-x)));
    }
  }
  float operator()(float x) const {
    if (!(x >= -8)) return 0;  // also for NaN
    if (x > 8) return 1;
    return values[static_cast<int64_t>((x + 8) * 512 / 8 / 2)];
  }
};
inline const SigmoidTable kSigmoid;

inline bool higher(const std::pair<float, int32_t>& left, const std::pair<float, int32_t>& right) {
  return left.first > right.first;
}

inline void keep(Ranked& heap, size_t k, float value, int32_t label) {
  heap.push_back({value, label});
  push_last(heap, higher);
  if (heap.size() > k) {
    pop_first(heap, heap.size(), higher);
    heap.pop_back();
  }
}

// The buffers for ranking the labels of a text, reused for the next.
struct Ranking {
  Ranked heap, open;
  std::vector<float> values;
  std::vector<int32_t> path;
};

class Outputs {
 public:
  Loss loss = Loss::kSoftmax;
  size_t n_labels = 0;
  // for hierarchical softmax: two children of each inner node, the parent of each node, the position of each label from
  // the left, and the length of the longest path
  std::vector<int32_t> children, parents, order;
  int deepest = 0;

  // Compute the paths of the tree from its children.
  void find_paths() {
    parents.assign(2 * n_labels - 1, -1);
    order.assign(n_labels, 0);
    int32_t place = 0;
    std::vector<std::pair<int32_t, int>> open{{static_cast<int32_t>(2 * n_labels - 2), 0}};
    while (!open.empty()) {
      const auto [node, depth] = open.back();
      open.pop_back();
      deepest = std::max(deepest, depth);
      if (node < static_cast<int32_t>(n_labels)) {
        order[static_cast<size_t>(node)] = place++;
        continue;
      }
      const size_t inner = static_cast<size_t>(node) - n_labels;
      for (const int side : {1, 0}) {
        const int32_t child = children[2 * inner + static_cast<size_t>(side)];
        parents[static_cast<size_t>(child)] = node;
        open.push_back({child, depth + 1});
      }
    }
  }

  // For hierarchical softmax, replace the outputs by the probability of the right child of each node; for other losses,
  // do nothing.
  void prepare(float* raw) const {
    if (loss != Loss::kTree) return;
    const size_t n = n_labels - 1;
    for (size_t i = 0; i < n; ++i) raw[i] = -raw[i];
    single_exponentials(raw, n);
    for (size_t i = 0; i < n; ++i) raw[i] = 1.f / (1.f + raw[i]);  // the result equals that of 64 bits rounded to 32
  }

  // The k best labels and their log-probabilities, the best first; `raw` is the result of `prepare` and is overwritten.
  void best(float* raw, size_t k, float threshold, Ranking& space) const {
    Ranked& heap = space.heap;
    heap.clear();
    if (k == 1 && threshold == 0) {  // the usual call
      auto found = loss == Loss::kTree ? best_leaf(raw, space) : best_label(raw, space.values);
      heap.clear();
      if (found.second >= 0) {
        if (loss == Loss::kTree)
          found.first = path_score(raw, found.second, -std::numeric_limits<float>::infinity(), space.path);
        heap.push_back(found);
        return;
      }
    }
    if (loss == Loss::kTree) {
      descend(raw, k, threshold, space);
    } else {
      probabilities(raw);
      float least = 0;  // p + 1e-5 of a label that certainly ranks below the whole heap
      for (size_t i = 0; i < n_labels; ++i) {
        if (raw[i] < threshold || raw[i] + 1e-5f < least) continue;
        const float value = fasttext_log(raw[i]);
        if (heap.size() == k && value < heap.front().first) continue;
        keep(heap, k, value, static_cast<int32_t>(i));
        if (heap.size() == k) least = std::exp(heap.front().first) * (1 - 1e-5f);
      }
    }
    sort_all(heap, higher);
  }

  // The label that fastText returns; of equal labels, its heap returns the last. `raw` is the result of `prepare`.
  int32_t winner(const float* raw, Ranking& space) const {
    if (loss == Loss::kTree) return std::max(best_leaf(raw, space).second, 0);
    if (loss != Loss::kSoftmax) return best_label(raw, space.values).second;
    const float most = largest(raw, n_labels), least = most - near();
    size_t n = 0;
    for (size_t i = 0; i < n_labels; ++i) n += raw[i] >= least;
    if (n > 1) return best_label(raw, space.values).second;
    return static_cast<int32_t>(std::min<ptrdiff_t>(std::find(raw, raw + n_labels, most) - raw, last()));  // NaN
  }

  // Log-probabilities of all labels by hierarchical softmax (n_labels,); `space` is a buffer for the tree.
  void leaf_scores(const float* raw, std::vector<float>& space, double* out) const {
    space.assign(2 * n_labels - 1, 0);
    for (size_t node = n_labels - 1; node-- > 0;) {
      const float score = space[n_labels + node], share = raw[node];
      space[static_cast<size_t>(children[2 * node])] = score + fasttext_log(1.f - share);
      space[static_cast<size_t>(children[2 * node + 1])] = score + fasttext_log(share);
    }
    for (size_t i = 0; i < n_labels; ++i) out[i] = space[i];
  }

 private:
  ptrdiff_t last() const { return static_cast<ptrdiff_t>(n_labels) - 1; }

  // Labels whose outputs differ from the best one by less than this may have equal 32-bit log-probabilities. Three
  // effects add up: the spacing of floats near the log-probability of the best label, which is at least 1/n_labels; the
  // error of probabilities, 2.4e-7; and the constant 1e-5 that fastText adds to them, which matters if all labels are
  // improbable.
  float near() const {
    const float apart = n_labels < 50 ? 2.4e-7f : n_labels < 2900 ? 4.8e-7f : 9.6e-7f;
    return (apart + 3.5e-7f) * (1 + 1e-5f * static_cast<float>(n_labels));
  }

  // The best label and its log-probability, for losses other than hierarchical softmax.
  std::pair<float, int32_t> best_label(const float* raw, std::vector<float>& space) const {
    const float most = largest(raw, n_labels);
    if (loss != Loss::kSoftmax) {
      const float value = kSigmoid(most);
      size_t i = n_labels - 1;
      while (i > 0 && kSigmoid(raw[i]) != value) --i;
      return {fasttext_log(value), static_cast<int32_t>(i)};
    }
    space.resize(n_labels);
    const float sum = odds(raw, most, space.data()), least = most - near();
    std::pair<float, int32_t> found{-std::numeric_limits<float>::infinity(), 0};
    for (size_t i = 0; i < n_labels; ++i) {
      if (raw[i] < least) continue;
      const float value = fasttext_log(space[i] / sum);
      if (value >= found.first) found = {value, static_cast<int32_t>(i)};
    }
    return found;
  }

  // The best leaf and its score; −1 if no leaf reaches a probability of 1e-5, because fastText does not search below
  // it. Probabilities are multiplied without logarithms; among leaves close to the best, fastText's order and its sum
  // of 32-bit logarithms decide.
  std::pair<float, int32_t> best_leaf(const float* shares, Ranking& space) const {
    std::vector<float>& reach = space.values;
    Ranked& near = space.heap;
    reach.resize(2 * n_labels - 1);
    reach[2 * n_labels - 2] = 1;
    for (size_t node = n_labels - 1; node-- > 0;) {
      const float p = reach[n_labels + node], share = shares[node];
      reach[static_cast<size_t>(children[2 * node])] = p * ((1.f - share) + 1e-5f);
      reach[static_cast<size_t>(children[2 * node + 1])] = p * (share + 1e-5f);
    }
    const float best = largest(reach.data(), n_labels);
    if (best < 1.1e-5f) return {0.f, -1};
    // the rounding error, plus log(1 + 1e-5), by which fastText may stop above a leaf that is as good as the best
    bool certain = false;
    for (size_t i = 0; i + 1 < n_labels; ++i) certain |= (shares[i] > 0.9999f) | (shares[i] < 0.0001f);
    const float least = best * (1 - (certain ? 2e-5f : 2.3e-6f) * static_cast<float>(deepest + 4));
    near.clear();
    for (size_t i = 0; i < n_labels; ++i)
      if (reach[i] >= least) near.push_back({reach[i], static_cast<int32_t>(i)});
    if (near.size() == 1) return near.front();
    std::sort(near.begin(), near.end(), [&](const auto& one, const auto& two) {
      return order[static_cast<size_t>(one.second)] < order[static_cast<size_t>(two.second)];
    });
    std::pair<float, int32_t> found{-std::numeric_limits<float>::infinity(), -1};
    for (const auto& candidate : near) {
      const float score = path_score(shares, candidate.second, found.first, space.path);
      if (score >= found.first) found = {score, candidate.second};
    }
    return found;
  }

  // The 32-bit sum of logarithms on the path to a leaf; −∞ if fastText stops on the way because the sum falls below
  // `least`.
  float path_score(const float* shares, int32_t leaf, float least, std::vector<int32_t>& path) const {
    path.clear();
    for (int32_t node = leaf; node >= 0; node = parents[static_cast<size_t>(node)]) path.push_back(node);
    float score = 0;
    for (size_t i = path.size() - 1; i > 0; --i) {
      const size_t inner = static_cast<size_t>(path[i]) - n_labels;
      const bool right = children[2 * inner + 1] == path[i - 1];
      score += fasttext_log(right ? shares[inner] : 1.f - shares[inner]);
      if (score < least) return -std::numeric_limits<float>::infinity();
    }
    return score;
  }

  // exp(output − most) of each label in 32 bits; return their sum in fastText's order.
  float odds(const float* raw, float most, float* out) const {
    for (size_t i = 0; i < n_labels; ++i) out[i] = raw[i] - most;
    double_exponentials(out, n_labels);
    float sum = 0;
    for (size_t i = 0; i < n_labels; ++i) sum += out[i];
    return sum;
  }

  void probabilities(float* raw) const {
    if (loss != Loss::kSoftmax) {
      for (size_t i = 0; i < n_labels; ++i) raw[i] = kSigmoid(raw[i]);
      return;
    }
    const float sum = odds(raw, largest(raw, n_labels), raw);
    for (size_t i = 0; i < n_labels; ++i) raw[i] /= sum;
  }

  // Depth-first search, left before right, with an explicit stack: a tree may be as deep as its number of labels.
  void descend(const float* shares, size_t k, float threshold, Ranking& space) const {
    Ranked &heap = space.heap, &open = space.open;
    const float least = fasttext_log(threshold);
    open.assign(1, {0.f, static_cast<int32_t>(2 * n_labels - 2)});
    while (!open.empty()) {
      const auto [score, node] = open.back();
      open.pop_back();
      if (score < least || (heap.size() == k && score < heap.front().first)) continue;
      if (node < static_cast<int32_t>(n_labels)) {
        keep(heap, k, score, node);
        continue;
      }
      const size_t inner = static_cast<size_t>(node) - n_labels;
      open.push_back({score + fasttext_log(shares[inner]), children[2 * inner + 1]});
      open.push_back({score + fasttext_log(1.f - shares[inner]), children[2 * inner]});
    }
  }
};

}  // namespace unnaive
