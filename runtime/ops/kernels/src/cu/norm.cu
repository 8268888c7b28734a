// Norms of contiguous rows, with what stands before and behind them (row.cuh).
//
// ELEMENT, RESULT    of the inputs, and of y
// LONG               1 for rows that are not held, but read again for each pass
// CENTRED            1: the mean is subtracted
// EUCLIDEAN          1: the row's length instead of its root mean square, eps being the least divisor
// BRANCH_GATE        1: x is multiplied by the sample's gate
// RESIDUAL           1: it is added to x, and the sum is stored
// SILU               1: x is multiplied by silu(gate) before the norm; 2: behind it
// WEIGHT, BIAS       1: by column; WEIGHT 2: its distance from one
// FULL               1 where a row's threads hold no vectors beyond it
// AHEAD              1 where what stands behind the norm is loaded with the row
// MODULATED          1: times (1 + scale) plus shift, of the sample
// QUANTIZED          1: y is divided by the scale that fits the row into RESULT, eight bits of e4m3
// TWO                1: a second tensor of rows, with a weight of its own, behind the first

using T = ELEMENT;
using Y = RESULT;

__device__ __forceinline__ float silu(float x) { return __fdividef(x, 1.f + __expf(-x)); }

static_assert(!QUANTIZED || (!CENTRED && !BIAS && !MODULATED && SILU == 0), "a weight alone stands behind a quantized norm");

// The greatest number of a quantized row.
constexpr float MOST = 448.f;

// What a column is weighed with: weight and bias, or the sample's scale and shift; and silu's gate behind the norm.
struct Behind {
  Vector<T, W> weight, bias, gate;
};

template <typename E>
__device__ __forceinline__ void store_columns(const Row& row, E* to, int column, const Vector<E, W>& vector) {
  if constexpr (ALIGNED) store_vector(to + row.at + column, vector);
  else row.store(to, column, vector);
}

struct Norm {
  const T *x, *residual, *gate, *weight, *bias, *scale, *shift;
  T* sum;
  Y* y;

  __device__ __forceinline__ Behind of_column(const Row& row, int column) const {
    Behind with;
    if constexpr (WEIGHT != 0) with.weight = row.parameter(weight, column);
    if constexpr (BIAS) with.bias = row.parameter(bias, column);
    if constexpr (MODULATED) {
      with.weight = row.parameter(scale, column);
      with.bias = row.parameter(shift, column);
    }
    return with;
  }

  // x, with what stands before the norm.
  __device__ __forceinline__ void fetch(const Row& row, int column, float (&out)[W]) const {
    const auto in = row.load(x, column);
#pragma unroll
    for (int lane = 0; lane < W; ++lane) out[lane] = to_float(in.at[lane]);
    if constexpr (BRANCH_GATE) {
      const auto gates = row.parameter(gate, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= to_float(gates.at[lane]);
    }
    if constexpr (RESIDUAL) {
      const auto more = row.load(residual, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] += to_float(more.at[lane]);
    }
    if constexpr (SILU == 1) {
      const auto gates = row.load(gate, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= silu(to_float(gates.at[lane]));
    }
    if constexpr (!ALIGNED) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (!row.holds(column + lane)) out[lane] = 0.f;
    }
  }

  // What becomes of the normalized columns, which are `out` times `factor`.
  __device__ __forceinline__ void behind(const Behind& with, float factor, float (&out)[W]) const {
    if constexpr (MODULATED) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        out[lane] = fmaf(out[lane], fmaf(factor, to_float(with.weight.at[lane]), factor), to_float(with.bias.at[lane]));
    } else {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= factor;
    }
    if constexpr (WEIGHT != 0) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= to_float(with.weight.at[lane]) + (WEIGHT == 2 ? 1.f : 0.f);
    }
    if constexpr (BIAS) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] += to_float(with.bias.at[lane]);
    }
    if constexpr (SILU == 2) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= silu(to_float(with.gate.at[lane]));
    }
  }

  __device__ __forceinline__ void store(const Row& row, int column, const float (&values)[W]) const {
    Vector<Y, W> out;
    if constexpr (QUANTIZED) {
      Narrow<Y, true>::run(values, out);
    } else {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out.at[lane] = from_float<Y>(values[lane]);
    }
    store_columns(row, y, column, out);
  }
};

// How many columns of a row are a warp's, where a row's vectors are whole: its lanes hold neighbours, as many times as VECTORS.
__device__ __forceinline__ int columns_of_lanes(const Row& row) {
  constexpr int SPAN = LANES * W;
  if constexpr (FULL) return VECTORS * SPAN;
  int many = 0;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    many += min(max(row.columns - (row.column(v) - static_cast<int>(threadIdx.x % LANES) * W), 0), SPAN);
  return many;
}

// Every vector of this thread: its number among those held, and its column.
template <typename F> __device__ __forceinline__ void each(const Row& row, F f) {
  if constexpr (LONG) {
    for (int v = 0; row.touches(row.column(v)); ++v) f(0, row.column(v));
  } else {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const int column = row.column(v);
      if (FULL || row.touches(column)) f(v, column);
    }
  }
}

// `samples` rows share a gate, a scale and a shift; `parts` neighbouring rows share the weight's columns between them.
extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
norm_rows(const T* x, const T* residual, T* sum, const T* gate, const T* weight, const T* bias, const T* scale,
     const T* shift, Y* y, float* scale_of_row, int columns, long long rows, float eps, long long samples,
     long long parts, const T* second_x, const T* second_weight, Y* second_y, long long second_rows) {
  cluster_started();
  // What no row is left for goes along with the last one, of either tensor, and stores nothing.
  const bool exists = row_of_group() < rows + second_rows;
  long long which = exists ? row_of_group() : rows + second_rows - 1;
  Norm norm = {x, residual, gate, weight, bias, scale, shift, sum, y};
  if constexpr (TWO) {
    if (which >= rows) {
      which -= rows;
      norm.x = second_x;
      norm.weight = second_weight;
      norm.y = second_y;
    }
  }
  const Row row(which, columns);
  if constexpr (BRANCH_GATE || MODULATED) {
    const long long of_sample = which / samples * columns;
    norm.gate += of_sample;
    norm.scale += of_sample;
    norm.shift += of_sample;
  }
  if constexpr (WEIGHT != 0) norm.weight += which % parts * columns;

  float held[VECTORS][W];
  const auto fetch = [&](int v, int column) {
    if constexpr (LONG) norm.fetch(row, column, held[v]);
  };
  // A gate behind the norm is a tensor of its own, and is under way with the row.
  Vector<T, W> gates[VECTORS];
  Behind ahead[VECTORS];
  const auto of_column = [&](int v, int column) {
    if constexpr (AHEAD) return ahead[v];
    else return norm.of_column(row, column);
  };
  if constexpr (!LONG) {
    each(row, [&](int v, int column) {
      norm.fetch(row, column, held[v]);
      if constexpr (SILU == 2) gates[v] = row.load(gate, column);
      if constexpr (AHEAD) ahead[v] = norm.of_column(row, column);
    });
  }

  float mean = 0.f, squares = 0.f;
  if constexpr (CENTRED) {
    // The moments of the lanes that share a row, then of all.
    float total = 0.f, many = 0.f;
    each(row, [&](int v, int column) {
      fetch(v, column);
      if constexpr (LONG || !ALIGNED) many += min(column + W, row.columns) - max(column, 0);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) total += held[v][lane];
    });
    if constexpr (LONG || !ALIGNED) many = over_lanes<LANES>(many, Sum());
    else many = columns_of_lanes(row);
    mean = many > 0.f ? __fdividef(over_lanes<LANES>(total, Sum()), many) : 0.f;
    each(row, [&](int v, int column) {
      fetch(v, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED || row.holds(column + lane)) squares += (held[v][lane] - mean) * (held[v][lane] - mean);
    });
    const Moments of_row =
        over_warps_of_row<0, true>(Moments{many, mean, over_lanes<LANES>(squares, Sum())}, Pooled());
    mean = of_row.mean;
    squares = of_row.squares;
  } else {
    each(row, [&](int v, int column) {
      fetch(v, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) squares += held[v][lane] * held[v][lane];
    });
    squares = over_row<0, true>(squares, Sum());
  }
  const float factor = EUCLIDEAN ? 1.f / fmaxf(sqrtf(squares), eps) : rsqrtf(squares / columns + eps);

  const auto store_sums = [&](int v, int column) {
    if constexpr (RESIDUAL) {
      Vector<T, W> sums;
#pragma unroll
      for (int lane = 0; lane < W; ++lane) sums.at[lane] = from_float<T>(held[v][lane]);
      store_columns(row, norm.sum, column, sums);
    }
  };
  if constexpr (QUANTIZED) {
    // The row is weighed, not normalized: what is the same for all of it cancels in the codes, and is in the scale.
    const auto weighed = [&](int v, int column) {
      fetch(v, column);
      if (!LONG && exists) store_sums(v, column);
      norm.behind(of_column(v, column), 1.f, held[v]);
    };
    float greatest = 0.f;
    each(row, [&](int v, int column) {
      weighed(v, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED || row.holds(column + lane)) greatest = fmaxf(greatest, fabsf(held[v][lane]));
    });
    greatest = over_row<1, false>(greatest, Greatest());
    if (!exists) return;
    if (threadIdx.x % GROUP == 0 && (CLUSTER == 1 || cluster_rank() == 0)) scale_of_row[which] = greatest * factor / MOST;
    // Numbers whose greatest one has no reciprocal are raised first.
    constexpr float LEAST = 1e-30f, RAISED = 0x1p64f;
    const float raised = greatest < LEAST ? RAISED : 1.f;
    const float to_codes = greatest > 0.f ? MOST / (greatest * raised) : 0.f;
    each(row, [&](int v, int column) {
      if constexpr (LONG) {
        fetch(v, column);
        store_sums(v, column);
        norm.behind(of_column(v, column), 1.f, held[v]);
      }
      if (greatest < LEAST) {
#pragma unroll
        for (int lane = 0; lane < W; ++lane) held[v][lane] *= raised;
      }
#pragma unroll
      for (int lane = 0; lane < W; ++lane) held[v][lane] *= to_codes;
      norm.store(row, column, held[v]);
    });
  } else {
    if (!exists) return;
    each(row, [&](int v, int column) {
      fetch(v, column);
      float out[W];
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] = held[v][lane] - mean;
      Behind with = of_column(v, column);
      if constexpr (SILU == 2) {
        if constexpr (!LONG) convert_anew(gates[v]);
        with.gate = LONG ? row.load(gate, column) : gates[v];
      }
      norm.behind(with, factor, out);
      norm.store(row, column, out);
      store_sums(v, column);
    });
  }
}
