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
// PARTS              1: neighbouring rows share the weight's columns between them
// FULL               1 where a row's threads hold no vectors beyond it
// FEW                1 for less than 2^31 rows
// EXACT              1 where a block's rows divide all
// AHEAD              1 where what stands behind the norm is loaded with the row
// MODULATED          1: times (1 + scale) plus shift, of the sample
// STAGED             1 where those are on their way to shared memory while the rows are: a block's are of one sample, and FULL
// QUANTIZED          1: y is divided by the scale that fits the row into RESULT, eight bits of e4m3
// TWO                1: a second tensor of rows, with a weight of its own, behind the first

using T = ELEMENT;
using Y = RESULT;

__device__ __forceinline__ float silu(float x) { return x * reciprocal_of(1.f + two_to(x * -LOG2E)); }

static_assert(!QUANTIZED || (!CENTRED && !BIAS && !MODULATED && SILU == 0), "a weight alone stands behind a quantized norm");

// The greatest number of a quantized row.
constexpr float MOST = 448.f;

// A row's sum of squares, and the greatest magnitude of what it is weighed to.
struct Extent {
  float squares, greatest;
};

struct Wider {
  static __device__ __forceinline__ Extent neutral() { return {0.f, 0.f}; }
  __device__ __forceinline__ Extent operator()(Extent a, Extent b) const {
    return {a.squares + b.squares, maximum(a.greatest, b.greatest)};
  }
};

// What a column is weighed with: weight and bias, or the sample's scale and shift; and silu's gate behind the norm.
struct Behind {
  Held<T> weight, bias, gate;
};

template <typename E>
__device__ __forceinline__ void store_columns(const Row& row, E* to, int column, const Vector<E, W>& vector) {
  if constexpr (ALIGNED) store_vector(to + row.at + column, vector);
  else row.store(to, column, vector);
}

// A vector that nothing writes while the kernel runs. It is loaded where this is said: left to itself, the compiler moves a load
// to where it is used, behind the waits for other lanes, or stores keep it behind them.
__device__ __forceinline__ Held<T> load_here(const T* from) {
  Held<T> words;
  if constexpr (sizeof(words) == 16)
    asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.at[0]), "=r"(words.at[1]), "=r"(words.at[2]), "=r"(words.at[3])
                 : "l"(from));
  else if constexpr (sizeof(words) == 8)
    asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(words.at[0]), "=r"(words.at[1]) : "l"(from));
  else
    words = *reinterpret_cast<const Held<T>*>(from);
  return words;
}

// What a row is multiplied with or has added by column.
__device__ __forceinline__ Held<T> parameter(const Row& row, const T* from, int column) {
  if constexpr (ALIGNED) return load_here(from + column);
  const Vector<T, W> vector = row.parameter(from, column);
  return reinterpret_cast<const Held<T>&>(vector);
}

struct Norm {
  const T *x, *residual, *gate, *weight, *bias, *scale, *shift;
  T* sum;
  Y* y;

  __device__ __forceinline__ Behind of_column(const Row& row, int column) const {
    Behind with;
    if constexpr (WEIGHT != 0) with.weight = parameter(row, weight, column);
    if constexpr (BIAS) with.bias = parameter(row, bias, column);
    if constexpr (MODULATED) {
      with.weight = parameter(row, scale, column);
      with.bias = parameter(row, shift, column);
    }
    return with;
  }

  // x, with what stands before the norm.
  __device__ __forceinline__ void fetch(const Row& row, int column, float (&out)[W]) const {
    to_floats<T>(row.load_words(x, column), out);
    if constexpr (BRANCH_GATE) {
      float gates[W];
      const Vector<T, W> of_sample = row.parameter(gate, column);
      to_floats<T>(reinterpret_cast<const Held<T>&>(of_sample), gates);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= gates[lane];
    }
    if constexpr (RESIDUAL) {
      float more[W];
      to_floats<T>(row.load_words(residual, column), more);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] += more[lane];
    }
    if constexpr (SILU == 1) {
      float gates[W];
      to_floats<T>(row.load_words(gate, column), gates);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= silu(gates[lane]);
    }
    if constexpr (!ALIGNED) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (!row.holds(column + lane)) out[lane] = 0.f;
    }
  }

  // What becomes of the normalized columns, which are `out` times `factor`.
  __device__ __forceinline__ void behind(const Behind& with, float factor, float (&out)[W]) const {
    float of_column[W];
    if constexpr (MODULATED) {
      float shifts[W];
      to_floats<T>(with.weight, of_column);
      to_floats<T>(with.bias, shifts);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] = fmaf(out[lane], fmaf(factor, of_column[lane], factor), shifts[lane]);
    } else {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= factor;
    }
    if constexpr (WEIGHT != 0) {
      to_floats<T>(with.weight, of_column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= WEIGHT == 2 ? of_column[lane] + 1.f : of_column[lane];
    }
    if constexpr (BIAS) {
      to_floats<T>(with.bias, of_column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] += of_column[lane];
    }
    if constexpr (SILU == 2) {
      to_floats<T>(with.gate, of_column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] *= silu(of_column[lane]);
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

// A number of rows, and the quotients of rows by it.
struct Count {
  long long count;
  Divisor divisor;
  __device__ __forceinline__ long long of(long long row) const {
    if constexpr (FEW) return divisor.of(static_cast<unsigned>(row));
    else return row / count;
  }
};

// What the rows of a block are modulated with. It takes no registers while it is on its way.
struct Sample {
  static constexpr int COLUMNS = STAGED ? VECTORS * GROUP * W : W;
  __align__(16) T scale[COLUMNS], shift[COLUMNS];

  __device__ __forceinline__ void start(const Norm& norm) {
    constexpr int LANES = 16 / sizeof(T);
#pragma unroll
    for (int column = threadIdx.x * LANES; column < COLUMNS; column += GROUP * ROWS * LANES) {
      copy_async(shared_address(scale + column), norm.scale + column, true);
      copy_async(shared_address(shift + column), norm.shift + column, true);
    }
    copy_commit();
  }

  // All of a block's threads wait together.
  __device__ __forceinline__ void wait() const {
    copy_wait<0>();
    __syncthreads();
  }

  __device__ __forceinline__ Behind of_column(int column) const {
    Behind with;
    with.weight = load_here(scale + column);
    with.bias = load_here(shift + column);
    return with;
  }

  // Loaded where this is said, one after the other: all at once they would take more registers than there are.
  static __device__ __forceinline__ Held<T> load_here(const T* from) {
    Held<T> words;
    if constexpr (sizeof(words) == 16)
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words.at[0]), "=r"(words.at[1]), "=r"(words.at[2]), "=r"(words.at[3])
                   : "r"(shared_address(from)));
    else if constexpr (sizeof(words) == 8)
      asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(words.at[0]), "=r"(words.at[1]) : "r"(shared_address(from)));
    else
      words = *reinterpret_cast<const Held<T>*>(from);
    return words;
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
     const T* shift, Y* y, float* scale_of_row, int columns, long long rows, float eps, Count samples, Count parts,
     const T* second_x, const T* second_weight, Y* second_y, long long second_rows) {
  cluster_started();
  // What no row is left for goes along with the last one, of either tensor, and stores nothing.
  const bool exists = EXACT || row_of_group() < rows + second_rows;
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
    const long long of_sample = samples.of(which) * columns;
    norm.gate += of_sample;
    norm.scale += of_sample;
    norm.shift += of_sample;
  }
  if constexpr (PARTS) norm.weight += (which - parts.of(which) * parts.count) * columns;

  __shared__ Sample sample;
  if constexpr (STAGED) sample.start(norm);

  float held[VECTORS][W];
  const auto fetch = [&](int v, int column) {
    if constexpr (LONG) norm.fetch(row, column, held[v]);
  };
  // A gate behind the norm is a tensor of its own, and is under way with the row.
  Held<T> gates[VECTORS];
  Behind ahead[VECTORS];
  const auto of_column = [&](int v, int column) {
    if constexpr (AHEAD) return ahead[v];
    else if constexpr (STAGED) return sample.of_column(column);
    else return norm.of_column(row, column);
  };
  if constexpr (!LONG) {
    each(row, [&](int v, int column) {
      norm.fetch(row, column, held[v]);
      if constexpr (SILU == 2) gates[v] = load_here(gate + row.at + column);
      if constexpr (AHEAD) ahead[v] = norm.of_column(row, column);
    });
  }

  const auto store_sums = [&](int v, int column) {
    if constexpr (RESIDUAL) {
      Vector<T, W> sums;
#pragma unroll
      for (int lane = 0; lane < W; ++lane) sums.at[lane] = from_float<T>(held[v][lane]);
      store_columns(row, norm.sum, column, sums);
    }
  };

  float mean = 0.f, squares = 0.f, greatest = 0.f;
  if constexpr (QUANTIZED) {
    // The row is weighed, not normalized: what is the same for all of it cancels in the codes, and is in the scale. So its
    // squares and its greatest weighed magnitude are found at once.
    const auto weigh = [&](int v, int column) {
      norm.behind(of_column(v, column), 1.f, held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED || row.holds(column + lane)) greatest = maximum(greatest, fabsf(held[v][lane]));
    };
    each(row, [&](int v, int column) {
      fetch(v, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) squares += held[v][lane] * held[v][lane];
      if constexpr (LONG) weigh(v, column);
      else if (exists) store_sums(v, column);
    });
    if constexpr (!LONG) each(row, weigh);
    const Extent of_row = over_row<0, true>(Extent{squares, greatest}, Wider());
    squares = of_row.squares;
    greatest = of_row.greatest;
  } else if constexpr (CENTRED) {
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
  const float factor = EUCLIDEAN ? 1.f / greater<true>(sqrtf(squares), eps) : rsqrtf(squares * reciprocal_of(columns) + eps);

  if constexpr (QUANTIZED) {
    if (!exists) return;
    if (threadIdx.x % GROUP == 0 && (CLUSTER == 1 || cluster_rank() == 0)) scale_of_row[which] = greatest * factor / MOST;
    // Numbers whose greatest one has no reciprocal are raised first.
    constexpr float LEAST = 1e-30f, RAISED = 0x1p64f;
    const float raised = greatest < LEAST ? RAISED : 1.f;
    // What is not a number leaves none, and so does what is infinite, whose root mean square is.
    const float to_codes = greatest > 0.f && greatest < INFINITY ? MOST / (greatest * raised) : greatest * 0.f;
    const auto raise = [&](int v, int) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) held[v][lane] *= raised;
    };
    if constexpr (!LONG)
      if (greatest < LEAST) each(row, raise);
    each(row, [&](int v, int column) {
      if constexpr (LONG) {
        fetch(v, column);
        store_sums(v, column);
        norm.behind(of_column(v, column), 1.f, held[v]);
        raise(v, column);
      }
#pragma unroll
      for (int lane = 0; lane < W; ++lane) held[v][lane] *= to_codes;
      norm.store(row, column, held[v]);
    });
  } else {
    if constexpr (STAGED) sample.wait();
    if (!exists) return;
    each(row, [&](int v, int column) {
      fetch(v, column);
      float out[W];
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out[lane] = held[v][lane] - mean;
      Behind with = of_column(v, column);
      if constexpr (SILU == 2) {
        if constexpr (!LONG) convert_anew(gates[v]);
        with.gate = LONG ? row.load_words(gate, column) : gates[v];
      }
      norm.behind(with, factor, out);
      norm.store(row, column, out);
      store_sums(v, column);
    });
  }
}
