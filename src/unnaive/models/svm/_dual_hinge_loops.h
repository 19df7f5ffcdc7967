// One pass of dual coordinate descent over documents, for four binary problems at once. Included as _dual_row_loops.h.

// The document's dual variables move towards their minimum; `change` is by how much its multiple in the weights does.
// False if nothing moved.
template <typename Value>
inline bool move_alpha(HingeBlock<Value>& block, int64_t d, Four score, Four& change) {
  HingeItem& item = block.items[d];
  bool moved = false;
  for (int c = 0; c < kLanes; ++c) {
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
    const double alpha = wanted > 0 ? wanted : 0;
    change[c] = (alpha - item.alpha[c]) * item.sign[c];
    item.alpha[c] = alpha;
    moved = true;
  }
  return moved;
}

template <typename Value>
void hinge_pass(HingeBlock<Value>& block, const int32_t* order, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      prefetch_row(block.rows, order[i + kAhead]);
      __builtin_prefetch(block.items + order[i + kAhead]);
    }
    const int64_t d = order[i];
    Four change = four(0);
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

// sign·score of one document, its own entries included
template <typename Value>
inline Four hinge_margin(const HingeBlock<Value>& block, int64_t d, double penalty) {
  const HingeItem& item = block.items[d];
  const Four score = block.bias.of + row_product(block.rows, d, block.weights);
  return item.sign * score + (item.diagonal - 0.5 / penalty) * item.alpha;
}

// Primal value and duality gap: ½‖w‖² = ½ Σ α·margin needs no weights, and the dual is Σα − ½‖w‖² − Σ α²/(4·penalty)
template <typename Value>
void hinge_value(const HingeBlock<Value>& block, const double* penalty, Lanes& objective, Lanes& gap) {
  Four squares = four(0), loss = four(0), dual = four(0);
  for (int64_t d = 0; d < block.rows.size; ++d) {
    if (!(penalty[d] > 0)) continue;
    const Four alpha = block.items[d].alpha, margin = hinge_margin(block, d, penalty[d]);
    const Four slack = margin < 1 ? 1 - margin : four(0);
    squares += 0.5 * alpha * margin;
    loss += penalty[d] * slack * slack;
    dual += alpha - alpha * alpha * (0.25 / penalty[d]);
  }
  objective.of = squares + loss;
  gap.of = squares + loss - (dual - squares);
}
