// Gradients of norms of rows, and of their weights.
//
// ELEMENT     of all tensors but the statistics
// WIDTH       elements of a vector; it divides the columns
// VECTORS     vectors of a row that a thread holds
// GROUP       threads that share a row: a warp, of which a block has ROWS, or a whole block
// TOGETHER    rows that a group takes at a time
// STAGES      how often TOGETHER rows are under way to shared memory or there
// MIN_BLOCKS  blocks that a multiprocessor is to have registers for
// CENTRED     1 for a layer norm, which has a mean and a bias
//
// A thread keeps its columns through all rows, so that the weights' gradients are summed up in registers; the blocks' sums are
// joined by `join_columns`. Rows that are too long for that go through `gradient_of_rows` and `gradients_of_columns`.

using T = ELEMENT;

// What is known of a row: `shift` is -mean * rstd.
struct Statistics {
  float mean, rstd, shift;
  __device__ __forceinline__ Statistics(float mean = 0.f, float rstd = 0.f) : mean(mean), rstd(rstd), shift(-mean * rstd) {}
};

// x normalized, and dy weighed. Narrow elements are normalized by one instruction; what the mean cancels of others is exact.
struct Element {
  float h, g;
  __device__ __forceinline__ Element(float x, float dy, float weight, const Statistics& of)
      : h(!CENTRED ? x * of.rstd : sizeof(T) < 4 ? fmaf(x, of.rstd, of.shift) : (x - of.mean) * of.rstd), g(dy * weight) {}
};

// What a row's sums take from each element's gradient.
__device__ __forceinline__ float2 taken_of_row(float2 sums, float one_of_columns, float rstd) {
  return {-sums.x * one_of_columns * rstd, -sums.y * one_of_columns * rstd};
}

__device__ __forceinline__ T gradient(float h, float g, float2 taken, float rstd) {
  return from_float<T>(fmaf(g, rstd, CENTRED ? fmaf(h, taken.y, taken.x) : h * taken.y));
}

template <typename To> __device__ __forceinline__ To converted(const Vector<T, W>& from) {
  if constexpr (sizeof(To) == sizeof(from)) return from;
  else return to_floats(from);
}

struct Both {
  static __device__ __forceinline__ float2 neutral() { return {0.f, 0.f}; }
  __device__ __forceinline__ float2 operator()(float2 a, float2 b) const { return {a.x + b.x, a.y + b.y}; }
};

#ifdef VECTORS

extern "C" __global__ void __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
norm_backward(const T* dy, const T* x, const T* weight, const float* means, const float* rstds, T* dx,
              float* sums_of_weight, float* sums_of_bias, int columns, long long rows) {
  __shared__ float2 of_warps[2][TOGETHER][GROUP / 32];  // for groups of several warps
  constexpr int THREADS = GROUP * ROWS;
  // In single precision where a thread has the registers.
  constexpr bool IS_WIDE = VECTORS * W * (CENTRED ? 2 : 1) > 112 || THREADS * MIN_BLOCKS > 512;
  using Weights = typename Choose<IS_WIDE, Vector<T, W>, Vector<float, W>>::Type;
  Weights weights[VECTORS];
  const float one_of_columns = 1.f / columns;
  Vector<float, W> of_weight[VECTORS] = {}, of_bias[VECTORS] = {};
  const int mine = threadIdx.x % GROUP * W;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = mine + v * GROUP * W;
    if (column < columns) {
      const auto given = *reinterpret_cast<const Vector<T, W>*>(weight + column);
      weights[v] = converted<Weights>(given);
    }
  }
  // A group's threads have columns for all of their vectors but the last.
  const auto is_there = [&](int v) { return v < VECTORS - 1 || mine + v * GROUP * W < columns; };
  // Rows go to shared memory several stages ahead; a thread waits for what it copied itself, and reads that alone.
  extern __shared__ __align__(16) unsigned char memory[];
  Vector<T, W>* const stages = reinterpret_cast<Vector<T, W>*>(memory) + threadIdx.x;
  constexpr int OF_TENSOR = TOGETHER * VECTORS * THREADS, OF_STAGE = 2 * OF_TENSOR;
  // What is computed for the sums of so many vectors is held for the gradient; the others are read again. A warp with a row of
  // its own reads so many before it waits for its lanes, so that few registers are taken.
  constexpr int OF_HELD = TOGETHER * VECTORS * W <= 16 && THREADS * MIN_BLOCKS <= 512 ? VECTORS : GROUP == 32 ? 1 : 0;
  constexpr int AT_A_TIME = 3;
  const auto request = [&](long long first, int stage) {
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        const int column = mine + v * GROUP * W;
        if (first + r < rows && is_there(v)) {
          Vector<T, W>* const to = stages + stage * OF_STAGE + (r * VECTORS + v) * THREADS;
          copy_vector(to, dy + (first + r) * columns + column);
          copy_vector(to + OF_TENSOR, x + (first + r) * columns + column);
        }
      }
    }
    copy_commit();
  };
  const long long step = static_cast<long long>(gridDim.x) * (ROWS * TOGETHER);
  long long first = (static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / GROUP) * TOGETHER;
  for (int ahead = 0; ahead < STAGES - 1; ++ahead) request(first + ahead * step, ahead);
  // A row's statistics are loaded a turn ahead, and before that turn's rows are requested: behind these they would come late.
  Statistics of[TOGETHER];
  float next_mean[TOGETHER], next_rstd[TOGETHER];
  const auto load_statistics = [&](long long first) {
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      next_mean[r] = CENTRED && first + r < rows ? means[first + r] : 0.f;
      next_rstd[r] = first + r < rows ? rstds[first + r] : 0.f;
    }
  };
  load_statistics(first);
  int slot = 0;
  for (int stage = 0; first < rows; first += step, slot ^= 1, stage = stage + 1 < STAGES ? stage + 1 : 0) {
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) of[r] = Statistics(next_mean[r], next_rstd[r]);
    load_statistics(first + step);
    __syncwarp();  // or the compiler puts the loads behind the copies
    request(first + (STAGES - 1) * step, stage > 0 ? stage - 1 : STAGES - 1);
    copy_wait<STAGES - 1>();
    // Several rows at a time: one barrier serves all.
    float hs[TOGETHER][VECTORS][W], gs[TOGETHER][VECTORS][W];
    float2 of_rows[TOGETHER];
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      float2 sums = Both::neutral();
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        if (GROUP == 32 && v > 0 && v % AT_A_TIME == 0) __syncwarp();
        if ((r == 0 || first + r < rows) && is_there(v)) {
          const Vector<T, W>* const from = stages + stage * OF_STAGE + (r * VECTORS + v) * THREADS;
          const auto dys = to_floats(copied_vector(from)), xs = to_floats(copied_vector(from + OF_TENSOR));
          const auto ws = to_floats(weights[v]);
#pragma unroll
          for (int lane = 0; lane < W; ++lane) {
            const Element e(xs.at[lane], dys.at[lane], ws.at[lane], of[r]);
            if constexpr (CENTRED) {
              sums.x += e.g;
              of_bias[v].at[lane] += dys.at[lane];
            }
            sums.y = fmaf(e.g, e.h, sums.y);
            of_weight[v].at[lane] = fmaf(dys.at[lane], e.h, of_weight[v].at[lane]);
            if (v < OF_HELD) hs[r][v][lane] = e.h, gs[r][v][lane] = e.g;
          }
        }
      }
      if constexpr (!CENTRED) sums.y = over_lanes<32>(sums.y, Sum());
      else sums = over_lanes<32>(sums, Both());
      of_rows[r] = sums;
      if (GROUP > 32 && threadIdx.x % 32 == 0) of_warps[slot][r][threadIdx.x / 32] = sums;
    }
    // Two slots: a warp is at most one turn ahead of another.
    if constexpr (GROUP > 32) __syncthreads();
    else if constexpr (OF_HELD < VECTORS) __syncwarp();  // so that what is read again takes no registers until then
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      float2 sums = of_rows[r];
      if constexpr (GROUP > 32) {
        sums = Both::neutral();
#pragma unroll
        for (int warp = 0; warp < GROUP / 32; ++warp) sums = Both()(sums, of_warps[slot][r][warp]);
      }
      const float2 taken = taken_of_row(sums, one_of_columns, of[r].rstd);
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        const int column = mine + v * GROUP * W;
        if ((r == 0 || first + r < rows) && is_there(v)) {
          Vector<T, W> out;
          if (v < OF_HELD) {
#pragma unroll
            for (int lane = 0; lane < W; ++lane) out.at[lane] = gradient(hs[r][v][lane], gs[r][v][lane], taken, of[r].rstd);
          } else {
            const Vector<T, W>* const from = stages + stage * OF_STAGE + (r * VECTORS + v) * THREADS;
            const auto dys = to_floats(copied_vector(from)), xs = to_floats(copied_vector(from + OF_TENSOR));
            const auto ws = to_floats(weights[v]);
#pragma unroll
            for (int lane = 0; lane < W; ++lane) {
              const Element e(xs.at[lane], dys.at[lane], ws.at[lane], of[r]);
              out.at[lane] = gradient(e.h, e.g, taken, of[r].rstd);
            }
          }
          store_vector(dx + (first + r) * columns + column, out);
        }
      }
    }
  }
  const auto publish = [&](const Vector<float, W>(&of)[VECTORS], float* to) {
    if constexpr (ROWS > 1) {
      // The block's warps have no row under way any more.
      float* const shared = reinterpret_cast<float*>(memory);
      __syncthreads();
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        const int column = mine + v * GROUP * W;
        if (column < columns)
          *reinterpret_cast<Vector<float, W>*>(shared + threadIdx.x / GROUP * columns + column) = of[v];
      }
      __syncthreads();
      for (int column = threadIdx.x; column < columns; column += THREADS) {
        float sum = 0.f;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) sum += shared[row * columns + column];
        to[static_cast<long long>(blockIdx.x) * columns + column] = sum;
      }
    } else {
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        const int column = mine + v * GROUP * W;
        if (column < columns) store_vector(to + static_cast<long long>(blockIdx.x) * columns + column, of[v]);
      }
    }
  };
  copy_wait<0>();
  publish(of_weight, sums_of_weight);
  if constexpr (CENTRED) publish(of_bias, sums_of_bias);
}

// The sums of `parts` rows of single precision, column by column: 32 columns and 32 parts a block, and the second tensor behind
// the first.
extern "C" __global__ void __launch_bounds__(1024)
join_columns(const float* first, const float* second, T* of_first, T* of_second, int columns, int parts) {
  __shared__ float sums[32][33];
  const int blocks = (columns + 31) / 32, column = blockIdx.x % blocks * 32 + threadIdx.x;
  const bool is_second = blockIdx.x >= blocks;
  const float* from = is_second ? second : first;
  float sum = 0.f;
  // Eight parts at a time are on their way, also of fewer.
  if (column < columns) {
    for (int part = threadIdx.y; part < parts; part += 8 * 32) {
      float taken[8];
#pragma unroll
      for (int more = 0; more < 8; ++more)
        taken[more] = part + more * 32 < parts ? from[static_cast<long long>(part + more * 32) * columns + column] : 0.f;
#pragma unroll
      for (int more = 0; more < 8; ++more) sum += taken[more];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = over_lanes<32>(sums[threadIdx.x][threadIdx.y], Sum());
  const int joined = blockIdx.x % blocks * 32 + threadIdx.y;
  if (threadIdx.x == 0 && joined < columns) (is_second ? of_second : of_first)[joined] = from_float<T>(sum);
}

#else

// A block a row, which is read twice.
extern "C" __global__ void __launch_bounds__(1024)
gradient_of_rows(const T* dy, const T* x, const T* weight, const float* means, const float* rstds, T* dx,
                 long long columns) {
  const long long row = blockIdx.x, start = row * columns;
  const Statistics of(CENTRED ? means[row] : 0.f, rstds[row]);
  const auto element = [&](long long column) {
    return Element(to_float(x[start + column]), to_float(dy[start + column]), to_float(weight[column]), of);
  };
  float2 sums = Both::neutral();
  for (long long column = threadIdx.x; column < columns; column += 1024) {
    const Element e = element(column);
    sums = Both()(sums, {CENTRED ? e.g : 0.f, e.g * e.h});
  }
  const float2 taken = taken_of_row(over_block<1024, 0>(sums, Both()), 1.f / columns, of.rstd);
  for (long long column = threadIdx.x; column < columns; column += 1024) {
    const Element e = element(column);
    dx[start + column] = gradient(e.h, e.g, taken, of.rstd);
  }
}

// 32 columns a block, 32 parts of the rows.
extern "C" __global__ void __launch_bounds__(1024)
gradients_of_columns(const T* dy, const T* x, const float* means, const float* rstds, T* of_weight, T* of_bias,
                     long long columns, long long rows) {
  __shared__ float2 sums[32][33];
  const long long column = static_cast<long long>(blockIdx.x) * 32 + threadIdx.x;
  float2 sum = Both::neutral();
  if (column < columns) {
    for (long long row = threadIdx.y; row < rows; row += 32) {
      const float gradient_of = to_float(dy[row * columns + column]);
      const float h = (to_float(x[row * columns + column]) - (CENTRED ? means[row] : 0.f)) * rstds[row];
      sum = Both()(sum, {gradient_of * h, gradient_of});
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = over_lanes<32>(sums[threadIdx.x][threadIdx.y], Both());
  const long long joined = static_cast<long long>(blockIdx.x) * 32 + threadIdx.y;
  if (threadIdx.x == 0 && joined < columns) {
    of_weight[joined] = from_float<T>(sum.x);
    if constexpr (CENTRED) of_bias[joined] = from_float<T>(sum.y);
  }
}

#endif
