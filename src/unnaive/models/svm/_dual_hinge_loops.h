// One pass of dual coordinate descent over documents, for several binary problems at once. Included like
// _dual_row_loops.h.

// A mask with the lanes that have their bit set, and the bits of a mask.
inline MaskOf<Eight> lanes_of(unsigned bits, Eight) {
  return (MaskOf<Eight>{1, 2, 4, 8, 16, 32, 64, 128} & static_cast<int>(bits)) != 0;
}
inline MaskOf<Four> lanes_of(unsigned bits, Four) {
  return (MaskOf<Four>{1, 2, 4, 8} & static_cast<int64_t>(bits)) != 0;
}
#ifdef __AVX2__
inline unsigned bits_of(MaskOf<Eight> lanes, Eight) {
  return static_cast<unsigned>(__builtin_ia32_movmskps256(reinterpret_cast<Eight>(lanes)));
}
inline unsigned bits_of(MaskOf<Four> lanes, Four) {
  return static_cast<unsigned>(__builtin_ia32_movmskpd256(reinterpret_cast<Four>(lanes)));
}
#else
template <typename Vector>
inline unsigned bits_of(MaskOf<Vector> lanes, Vector) {
  unsigned bits = 0;
  for (int c = 0; c < kCountOf<Vector>; ++c) bits |= (lanes[c] != 0 ? 1u : 0u) << c;
  return bits;
}
#endif

// Move the dual variables of a document towards their minimum; `change` is the change of its coefficient in the
// weights. False if nothing changed. Few variables move, so only the search for them is for all lanes at once.
template <typename Value, typename Vector>
inline bool move_alpha(HingeBlock<Value, Vector>& block, int64_t d, Vector score, Vector& change) {
  using Number = NumberOf<Vector>;
  HingeItem<Vector>& item = block.items[d];
  const Vector gradient = item.sign * score - Number{1} + item.diagonal * item.alpha;
  const MaskOf<Vector> at_zero = item.alpha == 0, active = lanes_of(block.active[d] & block.open, Vector{});
  const MaskOf<Vector> shrunk = active & at_zero & (gradient > block.shrink_above.of), visited = active & ~shrunk;
  const Vector violation = (visited & ~(at_zero & (gradient > 0))) ? gradient : Vector{};
  block.active[d] &= static_cast<uint8_t>(~bits_of(shrunk, Vector{}));
  block.visited.of -= visited;
  block.high.of = violation > block.high.of ? violation : block.high.of;
  block.low.of = violation < block.low.of ? violation : block.low.of;
  const MaskOf<Vector> small = (violation < 0 ? -violation : violation) <= block.ignore_below.of;
  const unsigned moving = bits_of(~small, Vector{});
  for (unsigned left = moving; left; left &= left - 1) {
    const int c = __builtin_ctz(left);
    const double wanted = item.alpha[c] - item.step[c] * static_cast<double>(gradient[c]);
    const auto alpha = static_cast<Number>(wanted > 0 ? wanted : 0);
    change[c] = (alpha - item.alpha[c]) * item.sign[c];
    item.alpha[c] = alpha;
  }
  return moving != 0;
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
