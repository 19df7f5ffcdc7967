// One pass of dual coordinate descent over documents, for several binary problems at once. Included like
// _dual_row_loops.h.

// Move the dual variables of a document towards their minimum; `change` is the change of its coefficient in the
// weights. False if nothing changed.
template <typename Value, typename Vector>
inline bool move_alpha(HingeBlock<Value, Vector>& block, int64_t d, Vector score, Vector& change) {
  HingeItem<Vector>& item = block.items[d];
  bool moved = false;
  for (int c = 0; c < kCountOf<Vector>; ++c) {
    if (!(block.active[d] & block.open & (1u << c))) continue;
    const double gradient = item.sign[c] * score[c] - 1 + item.diagonal[c] * item.alpha[c];
    const bool at_zero = item.alpha[c] == 0;
    if (at_zero && gradient > block.shrink_above[c]) {
      block.active[d] &= static_cast<uint8_t>(~(1u << c));
      continue;
    }
    const double violation = at_zero && gradient > 0 ? 0 : gradient;
    ++block.visited[c];
    if (violation > block.high[c]) block.high[c] = violation;
    if (violation < block.low[c]) block.low[c] = violation;
    if ((violation < 0 ? -violation : violation) <= block.ignore_below[c]) continue;
    const double wanted = item.alpha[c] - item.step[c] * gradient;
    const auto alpha = static_cast<NumberOf<Vector>>(wanted > 0 ? wanted : 0);
    change[c] = (alpha - item.alpha[c]) * item.sign[c];
    item.alpha[c] = alpha;
    moved = true;
  }
  return moved;
}

template <typename Value, typename Vector>
void hinge_pass(HingeBlock<Value, Vector>& block, const int32_t* order, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      prefetch_row(block.rows, order[i + kAhead]);
      __builtin_prefetch(block.items + order[i + kAhead]);
    }
    const int64_t d = order[i];
    Vector change{};
    const bool moved = move_alpha(block, d, block.bias.of + row_product(block.rows, d, block.weights), change);
    block.resting[d] = !moved;
    if (!moved) continue;
    block.bias.of += change;
    if (block.squared_scale)
      add_scaled_row(block.rows, d, change, block.squared_scale, block.weights);
    else
      add_row(block.rows, d, change, block.weights);
  }
}

// Primal value and duality gap of each problem: ½‖w‖² = ½ Σ α·margin needs no weights, and the dual is Σα − ½‖w‖² − Σ
// α²/(4·penalty). The margin is sign·score and includes the terms that only this document has.
template <typename Value, typename Vector>
void hinge_value(const HingeBlock<Value, Vector>& block, const double* penalty, double* objective, double* gap) {
  constexpr int kCount = kCountOf<Vector>;
  double squares[kCount] = {}, loss[kCount] = {}, dual[kCount] = {};
  for (int64_t d = 0; d < block.rows.size; ++d) {
    if (!(penalty[d] > 0)) continue;
    const HingeItem<Vector>& item = block.items[d];
    const Vector score = block.bias.of + row_product(block.rows, d, block.weights);
    for (int c = 0; c < kCount; ++c) {
      const double alpha = item.alpha[c];
      const double margin = item.sign[c] * score[c] + (item.diagonal[c] - 0.5 / penalty[d]) * alpha;
      const double slack = margin < 1 ? 1 - margin : 0;
      squares[c] += 0.5 * alpha * margin;
      loss[c] += penalty[d] * slack * slack;
      dual[c] += alpha - alpha * alpha * (0.25 / penalty[d]);
    }
  }
  for (int c = 0; c < kCount; ++c) {
    objective[c] = squares[c] + loss[c];
    gap[c] = squares[c] + loss[c] - (dual[c] - squares[c]);
  }
}
