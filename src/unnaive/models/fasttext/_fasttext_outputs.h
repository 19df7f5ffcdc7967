// Outputs of a fastText model → its decision, its probabilities and its k best labels, by its own 32-bit arithmetic.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "_fasttext_heap.h"

namespace unnaive {

enum class Loss { kTree = 1, kNegative = 2, kSoftmax = 3, kOneVsAll = 4 };

using Ranked = std::vector<std::pair<float, int32_t>>;  // log of a probability, label

inline float fasttext_log(float x) { return static_cast<float>(std::log(x + 1e-5)); }

// fastText reads the logistic function from a table of 512 steps over [−8, 8].
struct SigmoidTable {
  float values[513];
  SigmoidTable() {
    for (int i = 0; i <= 512; ++i) {
      const float x = static_cast<float>(i * 2 * 8) / 512 - 8;
      values[i] = static_cast<float>(1.0 / (1.0 + std::exp(-x)));
    }
  }
  float operator()(float x) const {
    if (!(x >= -8)) return 0;  // nor of what is no number
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

class Outputs {
 public:
  Loss loss = Loss::kSoftmax;
  size_t n_labels = 0;
  // of hierarchical softmax: two for each inner node of the tree; the parent of each node; the place of each label from
  // the left; the length of the longest path
  std::vector<int32_t> children, parents, order;
  int deepest = 0;

  // Paths of the tree, once its children are there.
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

  // The k best labels and the logs of their probabilities, the best first; `raw` has the outputs and is overwritten.
  void best(float* raw, size_t k, float threshold, Ranked& heap) const {
    heap.clear();
    if (loss == Loss::kTree) {
      const int32_t leaf = k == 1 && threshold == 0 ? best_leaf(raw, heap) : -1;
      heap.clear();
      if (leaf >= 0) {  // the usual question, answered without looking at most of the tree
        heap.push_back({path_score(raw, leaf, -std::numeric_limits<float>::infinity()), leaf});
      } else {
        descend(raw, k, threshold, heap);
      }
    } else {
      probabilities(raw);
      float least = 0;  // p + 1e-5 of what certainly ranks behind all of the heap
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

  // The label that fastText gives; of equal ones its heap leaves the last.
  int32_t winner(const float* raw, std::vector<float>& space, Ranked& heap) const {
    if (loss == Loss::kTree) {
      const int32_t leaf = best_leaf(raw, heap);
      return std::max(leaf, 0);
    }
    float most = raw[0];
    size_t place = 0;
    for (size_t i = 1; i < n_labels; ++i)
      if (raw[i] > most) most = raw[place = i];
    if (loss != Loss::kSoftmax) {
      const float value = kSigmoid(most);
      for (size_t i = n_labels; i-- > place;)
        if (kSigmoid(raw[i]) == value) return static_cast<int32_t>(i);
      return static_cast<int32_t>(place);
    }
    size_t near = 0;  // those that 32 bits may not tell from the best
    for (size_t i = 0; i < n_labels; ++i) near += raw[i] >= most - 1e-5f;
    if (near == 1) return static_cast<int32_t>(place);
    space.assign(raw, raw + n_labels);
    best(space.data(), 1, 0, heap);
    return heap.front().second;
  }

  // Log-probabilities of all labels of hierarchical softmax (n_labels,); `space` is for the tree.
  void leaf_scores(const float* raw, std::vector<float>& space, double* out) const {
    space.assign(2 * n_labels - 1, 0);
    for (size_t node = n_labels - 1; node-- > 0;) {
      const float score = space[n_labels + node], share = logistic(raw[node]);
      space[static_cast<size_t>(children[2 * node])] = score + fasttext_log(static_cast<float>(1.0 - share));
      space[static_cast<size_t>(children[2 * node + 1])] = score + fasttext_log(share);
    }
    for (size_t i = 0; i < n_labels; ++i) out[i] = space[i];
  }

 private:
  // The best leaf, −1 where none reaches 1e-5, which fastText does not look for. Probabilities are multiplied, without
  // a logarithm, and the likelier child of a node is looked into first, so that most others are never looked into.
  // Among leaves that come near the best it is fastText's order and its sum of 32-bit logarithms that decide.
  int32_t best_leaf(const float* raw, Ranked& near) const {
    thread_local std::vector<std::pair<double, int32_t>> open;
    const double close = 1 - 2e-5 * (deepest + 4);  // rounding, and log(1 + 1e-5) above 0 at every node
    double best = 0;
    near.clear();
    open.assign(1, {1.0, static_cast<int32_t>(2 * n_labels - 2)});
    while (!open.empty()) {
      const auto [p, node] = open.back();
      open.pop_back();
      if (p < best * close) continue;
      if (node < static_cast<int32_t>(n_labels)) {
        near.push_back({static_cast<float>(p), node});
        best = std::max(best, p);
        continue;
      }
      const size_t inner = static_cast<size_t>(node) - n_labels;
      const float share = logistic(raw[inner]);
      const std::pair<double, int32_t> right{p * (share + 1e-5), children[2 * inner + 1]};
      const std::pair<double, int32_t> left{p * (static_cast<float>(1.0 - share) + 1e-5), children[2 * inner]};
      open.push_back(share > 0.5f ? left : right);
      open.push_back(share > 0.5f ? right : left);
    }
    if (best < 1.1e-5) return -1;
    const auto far = [&](const std::pair<float, int32_t>& leaf) { return leaf.first < best * close; };
    near.erase(std::remove_if(near.begin(), near.end(), far), near.end());
    if (near.size() == 1) return near.front().second;
    std::sort(near.begin(), near.end(), [&](const auto& one, const auto& two) {
      return order[static_cast<size_t>(one.second)] < order[static_cast<size_t>(two.second)];
    });
    int32_t leaf = -1;
    float most = -std::numeric_limits<float>::infinity();
    for (const auto& candidate : near) {
      const float score = path_score(raw, candidate.second, most);
      if (score >= most) most = score, leaf = candidate.second;
    }
    return leaf;
  }

  // The sum of logarithms down to a leaf in 32 bits; −∞ where fastText stops on the way because it falls below `least`.
  float path_score(const float* raw, int32_t leaf, float least) const {
    thread_local std::vector<int32_t> path;
    path.clear();
    for (int32_t node = leaf; node >= 0; node = parents[static_cast<size_t>(node)]) path.push_back(node);
    float score = 0;
    for (size_t i = path.size() - 1; i > 0; --i) {
      const size_t inner = static_cast<size_t>(path[i]) - n_labels;
      const float share = logistic(raw[inner]);
      const bool right = children[2 * inner + 1] == path[i - 1];
      score += fasttext_log(right ? share : static_cast<float>(1.0 - share));
      if (score < least) return -std::numeric_limits<float>::infinity();
    }
    return score;
  }

  static float logistic(float x) { return static_cast<float>(1. / (1 + std::exp(-x))); }

  void probabilities(float* raw) const {
    if (loss != Loss::kSoftmax) {
      for (size_t i = 0; i < n_labels; ++i) raw[i] = kSigmoid(raw[i]);
      return;
    }
    float most = raw[0], sum = 0;
    for (size_t i = 0; i < n_labels; ++i) most = std::max(raw[i], most);
    for (size_t i = 0; i < n_labels; ++i) {
      raw[i] = static_cast<float>(std::exp(static_cast<double>(raw[i] - most)));
      sum += raw[i];
    }
    for (size_t i = 0; i < n_labels; ++i) raw[i] /= sum;
  }

  // Depth first, left before right, with a stack of its own: a tree may be as deep as it has labels.
  void descend(const float* raw, size_t k, float threshold, Ranked& heap) const {
    thread_local std::vector<std::pair<float, int32_t>> open;
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
      const float share = logistic(raw[inner]);
      open.push_back({score + fasttext_log(share), children[2 * inner + 1]});
      open.push_back({score + fasttext_log(static_cast<float>(1.0 - share)), children[2 * inner]});
    }
  }
};

}  // namespace unnaive
