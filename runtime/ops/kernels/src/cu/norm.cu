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
// MODULATED          1: times (1 + scale) plus shift, of the sample
// QUANTIZED          1: y is divided by the scale that fits the row into RESULT
// TWO                1: a second tensor of rows, with a weight of its own, behind the first

using T = ELEMENT;
using Y = RESULT;

__device__ __forceinline__ float silu(float x) { return x / (1.f + __expf(-x)); }

struct Norm {
  const T *x, *residual, *gate, *weight, *bias, *scale, *shift;
  T* sum;
  Y* y;

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

  // What becomes of the normalized columns.
  __device__ __forceinline__ void behind(const Row& row, int column, float (&out)[W]) const {
    if constexpr (WEIGHT != 0) {
      const auto weights = row.parameter(weight, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= to_float(weights.at[lane]) + (WEIGHT == 2 ? 1.f : 0.f);
    }
    if constexpr (BIAS) {
      const auto biases = row.parameter(bias, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] += to_float(biases.at[lane]);
    }
    if constexpr (MODULATED) {
      const auto scales = row.parameter(scale, column);
      const auto shifts = row.parameter(shift, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        out[lane] = fmaf(out[lane], 1.f + to_float(scales.at[lane]), to_float(shifts.at[lane]));
    }
    if constexpr (SILU == 2) {
      const auto gates = row.load(gate, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= silu(to_float(gates.at[lane]));
    }
  }

  __device__ __forceinline__ void store(const Row& row, int column, const float (&values)[W], float divisor) const {
    Vector<Y, W> out;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      // A row of zeros has a scale of zero.
      if constexpr (QUANTIZED) out.at[lane] = Y(divisor > 0.f ? fminf(fmaxf(values[lane] / divisor, -448.f), 448.f) : 0.f);
      else out.at[lane] = from_float<Y>(values[lane]);
    }
    row.store(y, column, out);
  }
};

// Every vector of this thread: its number among those held, and its column.
template <typename F> __device__ __forceinline__ void each(const Row& row, F f) {
  if constexpr (LONG) {
    for (int v = 0; row.touches(row.column(v)); ++v) f(0, row.column(v));
  } else {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const int column = row.column(v);
      if (row.touches(column)) f(v, column);
    }
  }
}

// `samples` rows share a gate, a scale and a shift; `parts` neighbouring rows share the weight's columns between them.
extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
norm_rows(const T* x, const T* residual, T* sum, const T* gate, const T* weight, const T* bias, const T* scale,
     const T* shift, Y* y, float* scale_of_row, int columns, long long rows, float eps, long long samples,
     long long parts, const T* second_x, const T* second_weight, Y* second_y, long long second_rows) {
  cluster_started();
  long long which = row_of_group();
  Norm norm = {x, residual, gate, weight, bias, scale, shift, sum, y};
  if constexpr (TWO) {
    if (which >= rows) {
      which -= rows;
      rows = second_rows;
      norm.x = second_x;
      norm.weight = second_weight;
      norm.y = second_y;
    }
  }
  const bool exists = which < rows;
  if (!exists) which = rows > 0 ? rows - 1 : 0;
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
  if constexpr (!LONG) each(row, [&](int v, int column) { norm.fetch(row, column, held[v]); });

  float mean = 0.f;
  if constexpr (CENTRED) {
    float total = 0.f;
    each(row, [&](int v, int column) {
      fetch(v, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) total += held[v][lane];
    });
    mean = over_row<0, true>(total, Sum()) / columns;
  }
  float squares = 0.f;
  each(row, [&](int v, int column) {
    fetch(v, column);
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (ALIGNED || !CENTRED || row.holds(column + lane)) squares += (held[v][lane] - mean) * (held[v][lane] - mean);
  });
  squares = over_row<1, !CENTRED>(squares, Sum());
  const float factor = EUCLIDEAN ? 1.f / fmaxf(sqrtf(squares), eps) : rsqrtf(squares / columns + eps);

  const auto normalized = [&](int v, int column, float(&out)[W]) {
    fetch(v, column);
#pragma unroll
    for (int lane = 0; lane < W; ++lane) out[lane] = (held[v][lane] - mean) * factor;
    norm.behind(row, column, out);
  };
  float divisor = 0.f;
  if constexpr (QUANTIZED) {
    float greatest = 0.f;
    each(row, [&](int v, int column) {
      float out[W];
      normalized(v, column, out);
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED || row.holds(column + lane)) greatest = fmaxf(greatest, fabsf(out[lane]));
    });
    divisor = over_row<2, false>(greatest, Greatest()) / 448.f;
    if (exists && threadIdx.x % GROUP == 0 && (CLUSTER == 1 || cluster_rank() == 0)) scale_of_row[which] = divisor;
  }
  if (!exists) return;
  each(row, [&](int v, int column) {
    float out[W];
    normalized(v, column, out);
    norm.store(row, column, out, divisor);
    if constexpr (RESIDUAL) {
      Vector<T, W> sums;
#pragma unroll
      for (int lane = 0; lane < W; ++lane) sums.at[lane] = from_float<T>(held[v][lane]);
      row.store(norm.sum, column, sums);
    }
  });
}
