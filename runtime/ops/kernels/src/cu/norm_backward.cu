// Gradients of norms of rows, and of their weights.
//
// ELEMENT     of all tensors but the statistics
// WIDTH       elements of a vector; it divides the columns
// VECTORS     vectors of a row that a thread holds
// GROUP       threads of a block, which takes TOGETHER rows after as many others
// MIN_BLOCKS  blocks that a multiprocessor is to have registers for
// CENTRED     1 for a layer norm, which has a mean and a bias
//
// A thread keeps its columns through all rows, so that the weights' gradients are summed up in registers; the blocks' sums are
// joined by `join_columns`. Rows that are too long for that go through `gradient_of_rows` and `gradients_of_columns`.

using T = ELEMENT;

// x normalized, and dy weighed.
struct Element {
  float h, g;
  __device__ __forceinline__ Element(T x, T dy, T weight, float mean, float rstd)
      : h((to_float(x) - mean) * rstd), g(to_float(dy) * to_float(weight)) {}
};

__device__ __forceinline__ T gradient(const Element& e, float2 means, float rstd) {
  return from_float<T>(rstd * (e.g - means.x - e.h * means.y));
}

struct Both {
  static __device__ __forceinline__ float2 neutral() { return {0.f, 0.f}; }
  __device__ __forceinline__ float2 operator()(float2 a, float2 b) const { return {a.x + b.x, a.y + b.y}; }
};

#ifdef VECTORS

extern "C" __global__ void __launch_bounds__(GROUP, MIN_BLOCKS)
norm_backward(const T* dy, const T* x, const T* weight, const float* means, const float* rstds, T* dx,
              float* sums_of_weight, float* sums_of_bias, int columns, long long rows) {
  __shared__ float2 of_warps[2][TOGETHER][GROUP / 32];
  Vector<T, W> weights[VECTORS];
  float of_weight[VECTORS][W] = {}, of_bias[CENTRED ? VECTORS : 1][W] = {};
  const int mine = threadIdx.x * W;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = mine + v * GROUP * W;
    if (column < columns) weights[v] = *reinterpret_cast<const Vector<T, W>*>(weight + column);
  }
  int slot = 0;
  for (long long first = static_cast<long long>(blockIdx.x) * TOGETHER; first < rows;
       first += static_cast<long long>(gridDim.x) * TOGETHER, slot ^= 1) {
    // Several rows at a time: their loads are under way together, and one barrier serves all.
    Vector<T, W> dys[TOGETHER][VECTORS], xs[TOGETHER][VECTORS];
    float mean[TOGETHER], rstd[TOGETHER];
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        const int column = mine + v * GROUP * W;
        if (first + r < rows && column < columns) {
          dys[r][v] = *reinterpret_cast<const Vector<T, W>*>(dy + (first + r) * columns + column);
          xs[r][v] = *reinterpret_cast<const Vector<T, W>*>(x + (first + r) * columns + column);
        }
      }
      mean[r] = CENTRED && first + r < rows ? means[first + r] : 0.f;
      rstd[r] = first + r < rows ? rstds[first + r] : 0.f;
    }
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      float2 sums = Both::neutral();
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        if (first + r < rows && mine + v * GROUP * W < columns) {
#pragma unroll
          for (int lane = 0; lane < W; ++lane) {
            const Element e(xs[r][v].at[lane], dys[r][v].at[lane], weights[v].at[lane], mean[r], rstd[r]);
            const float gradient_of = to_float(dys[r][v].at[lane]);
            if constexpr (CENTRED) {
              sums.x += e.g;
              of_bias[v][lane] += gradient_of;
            }
            sums.y = fmaf(e.g, e.h, sums.y);
            of_weight[v][lane] = fmaf(gradient_of, e.h, of_weight[v][lane]);
          }
        }
      }
      if constexpr (!CENTRED) sums.y = over_lanes<32>(sums.y, Sum());
      else sums = over_lanes<32>(sums, Both());
      if (threadIdx.x % 32 == 0) of_warps[slot][r][threadIdx.x / 32] = sums;
    }
    // Two slots: a warp is at most one turn ahead of another.
    __syncthreads();
#pragma unroll
    for (int r = 0; r < TOGETHER; ++r) {
      float2 sums = Both::neutral();
#pragma unroll
      for (int warp = 0; warp < GROUP / 32; ++warp) sums = Both()(sums, of_warps[slot][r][warp]);
      const float2 of_row = {sums.x / columns, sums.y / columns};
#pragma unroll
      for (int v = 0; v < VECTORS; ++v) {
        const int column = mine + v * GROUP * W;
        if (first + r < rows && column < columns) {
          convert_anew(dys[r][v]);
          convert_anew(xs[r][v]);
          Vector<T, W> out;
#pragma unroll
          for (int lane = 0; lane < W; ++lane)
            out.at[lane] =
                gradient(Element(xs[r][v].at[lane], dys[r][v].at[lane], weights[v].at[lane], mean[r], rstd[r]), of_row, rstd[r]);
          *reinterpret_cast<Vector<T, W>*>(dx + (first + r) * columns + column) = out;
        }
      }
    }
  }
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = mine + v * GROUP * W;
    if (column < columns) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        const long long at = static_cast<long long>(blockIdx.x) * columns + column + lane;
        sums_of_weight[at] = of_weight[v][lane];
        if constexpr (CENTRED) sums_of_bias[at] = of_bias[v][lane];
      }
    }
  }
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
  if (column < columns)
    for (int part = threadIdx.y; part < parts; part += 32) sum += from[static_cast<long long>(part) * columns + column];
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
  const float mean = CENTRED ? means[row] : 0.f, rstd = rstds[row];
  float2 sums = Both::neutral();
  for (long long column = threadIdx.x; column < columns; column += 1024) {
    const Element e(x[start + column], dy[start + column], weight[column], mean, rstd);
    sums = Both()(sums, {CENTRED ? e.g : 0.f, e.g * e.h});
  }
  sums = over_block<1024, 0>(sums, Both());
  const float2 of_row = {sums.x / columns, sums.y / columns};
  for (long long column = threadIdx.x; column < columns; column += 1024)
    dx[start + column] =
        gradient(Element(x[start + column], dy[start + column], weight[column], mean, rstd), of_row, rstd);
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
