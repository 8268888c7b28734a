// The softmax family along one axis.
//
// ELEMENT                                    of all tensors
// SOFTMAX, LOG_SOFTMAX, MASKED, BACKWARD     1 for which of them it is: MASKED has also SOFTMAX
//
// `softmax_rows`: contiguous rows, each read once (row.cuh).
// `softmax_columns`: any axis, and rows of any length. A block has TX lanes of WIDTH neighbouring columns, and TY parts of the
// axis; what it reads twice is in a cache the second time, unless the axis is very long.

using T = ELEMENT;

// What an element becomes, given the whole mass. A row without a finite maximum has no softmax: inf - inf.
struct Finish {
  float maximum, base, of_row;
  Finish() = default;
  __device__ __forceinline__ explicit Finish(Mass mass)
      : maximum(mass.maximum),
        base(Mass::base_of(mass.maximum)),
        of_row((LOG_SOFTMAX ? mass.log_of_sum() : 1.f / mass.sum) + (mass.maximum - mass.maximum)) {}
  __device__ __forceinline__ T operator()(float x) const {
    if constexpr (LOG_SOFTMAX) return from_float<T>((x - maximum) - of_row);
    else return from_float<T>(Mass::of(x, base) * of_row);
  }
};

#if MASKED
// Scores are scaled, and the mask is added; its rows are those of the scores, or fewer.
struct Mask {
  const T* mask;
  float scale;
  long long heads, height, batch_stride, row_stride, columns;
  __device__ __forceinline__ const T* row(long long row) const {
    return mask ? mask + (row / (heads * height) * batch_stride + row % height * row_stride) * columns : nullptr;
  }
};
#define HELD float
#define MASK \
  , const T *added, float scale, long long heads, long long height, long long batch_stride, long long row_stride
#else
#define HELD T
#define MASK
#endif

#ifdef CLUSTER

#if BACKWARD

// dx = y * (dy - sum(y * dy))
extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
softmax_rows(const T* dy, const T* y, T* dx, int columns, long long rows) {
  cluster_started();
  const long long which = row_of_group();
  const Row row(which < rows ? which : rows - 1, columns);
  Vector<T, W> gradient[VECTORS], output[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      gradient[v] = row.load(dy, column);
      output[v] = row.load(y, column);
    }
  }
  float sum = 0.f;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED || row.holds(column + lane)) sum += to_float(gradient[v].at[lane]) * to_float(output[v].at[lane]);
    }
  }
  sum = over_row<0, true>(sum, Sum());
  if (which >= rows) return;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      Vector<T, W> out;
      convert_anew(gradient[v]);
      convert_anew(output[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        out.at[lane] = from_float<T>(to_float(output[v].at[lane]) * (to_float(gradient[v].at[lane]) - sum));
      row.store(dx, column, out);
    }
  }
}

#else

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
softmax_rows(const T* x, T* y, int columns, long long rows MASK) {
  cluster_started();
  const long long which = row_of_group();
  const Row row(which < rows ? which : rows - 1, columns);
  Vector<HELD, W> held[VECTORS];
#if MASKED
  const Mask mask = {added, scale, heads, height, batch_stride, row_stride, columns};
  const T* added_to_row = mask.row(which < rows ? which : rows - 1);
#endif
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
#if MASKED
      const auto scores = row.load(x, column);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) held[v].at[lane] = to_float(scores.at[lane]) * mask.scale;
      if (added_to_row) {
        const auto added = row.parameter(added_to_row, column);
#pragma unroll
        for (int lane = 0; lane < W; ++lane) held[v].at[lane] += to_float(added.at[lane]);
      }
#else
      held[v] = row.load(x, column);
#endif
    }
  }
  float maximum = -INFINITY;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED || row.holds(column + lane)) maximum = fmaxf(maximum, to_float(held[v].at[lane]));
    }
  }
  maximum = over_lanes<LANES>(maximum, Greatest());
  const float base = Mass::base_of(maximum);
  float sum = 0.f;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      convert_anew(held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED || row.holds(column + lane)) sum += Mass::of(to_float(held[v].at[lane]), base);
    }
  }
  const Mass of_lanes = {maximum, over_lanes<LANES>(sum, Sum())};
  const Finish finish(over_warps_of_row<0, true>(of_lanes, Together()));
  if (which >= rows) return;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      Vector<T, W> out;
      convert_anew(held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out.at[lane] = finish(to_float(held[v].at[lane]));
      row.store(y, column, out);
    }
  }
}

#endif

#else

// Where a thread's columns are, and which parts of the axis it takes.
struct Columns {
  long long first;  // their first elements
  bool exist;
  __device__ __forceinline__ Columns(long long length, long long inner) {
    const long long blocks = (inner + TX * W - 1) / (TX * W);
    const long long column = (blockIdx.x % blocks) * (TX * W) + threadIdx.x * W;
    first = blockIdx.x / blocks * length * inner + column;
    exist = column < inner;
  }
};

// Over the parts of the axis; each thread gets the result for its columns.
template <typename V, typename Op> __device__ __forceinline__ void over_parts(V (&values)[W], Op op) {
  __shared__ V memory[TY][TX * W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) memory[threadIdx.y][threadIdx.x * W + lane] = values[lane];
  __syncthreads();
#pragma unroll
  for (int lane = 0; lane < W; ++lane) {
    V value = memory[0][threadIdx.x * W + lane];
    for (int part = 1; part < TY; ++part) value = op(value, memory[part][threadIdx.x * W + lane]);
    values[lane] = value;
  }
}

template <typename E> __device__ __forceinline__ Vector<E, W> vector_at(const E* from) {
  return *reinterpret_cast<const Vector<E, W>*>(from);
}

#if BACKWARD

extern "C" __global__ void __launch_bounds__(TX * TY)
softmax_columns(const T* dy, const T* y, T* dx, long long length, long long inner) {
  const Columns columns(length, inner);
  float sums[W] = {};
  if (columns.exist) {
#pragma unroll 4
    for (long long part = threadIdx.y; part < length; part += TY) {
      const auto gradient = vector_at(dy + columns.first + part * inner);
      const auto output = vector_at(y + columns.first + part * inner);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) sums[lane] += to_float(gradient.at[lane]) * to_float(output.at[lane]);
    }
  }
  over_parts(sums, Sum());
  if (!columns.exist) return;
#pragma unroll 4
  for (long long part = threadIdx.y; part < length; part += TY) {
    const long long at = columns.first + part * inner;
    const auto gradient = vector_at(dy + at);
    const auto output = vector_at(y + at);
    Vector<T, W> out;
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      out.at[lane] = from_float<T>(to_float(output.at[lane]) * (to_float(gradient.at[lane]) - sums[lane]));
    *reinterpret_cast<Vector<T, W>*>(dx + at) = out;
  }
}

#else

extern "C" __global__ void __launch_bounds__(TX * TY)
softmax_columns(const T* x, T* y, long long length, long long inner MASK) {
  const Columns columns(length, inner);
#if MASKED
  const Mask mask = {added, scale, heads, height, batch_stride, row_stride, length};
  const T* added_to_row = mask.row(blockIdx.x);
#define AT(element, part) (to_float(element) * mask.scale + (added_to_row ? to_float(added_to_row[part]) : 0.f))
#else
#define AT(element, part) to_float(element)
#endif
  Mass masses[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) masses[lane] = Together::neutral();
  if (columns.exist) {
#pragma unroll 4
    for (long long part = threadIdx.y; part < length; part += TY) {
      const auto in = vector_at(x + columns.first + part * inner);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        const float element = AT(in.at[lane], part);
        masses[lane].merge(Mass::of(element));
      }
    }
  }
  over_parts(masses, Together());
  if (!columns.exist) return;
  Finish finish[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) finish[lane] = Finish(masses[lane]);
#pragma unroll 4
  for (long long part = threadIdx.y; part < length; part += TY) {
    const long long at = columns.first + part * inner;
    const auto in = vector_at(x + at);
    Vector<T, W> out;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) out.at[lane] = finish[lane](AT(in.at[lane], part));
    *reinterpret_cast<Vector<T, W>*>(y + at) = out;
  }
}

#endif

#endif
