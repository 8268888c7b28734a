// The softmax family along one axis.
//
// ELEMENT                                    of all tensors
// LOG_SOFTMAX, BACKWARD                      1 for which of them it is
// SCALED                                     1: what is given is scaled first
// MASKED                                     1: and a mask is added; INDEX counts the rows
//
// `softmax_rows`: contiguous rows, each read once (row.cuh).
// `softmax_staged_rows`: the same, of long rows whose vectors are kept in shared memory (STAGED; copies.cuh).
// `softmax_columns`: any axis, and rows of any length. A block has TX lanes of WIDTH neighbouring columns, a power of two up to
// a warp's, and TY parts of the axis. A thread holds all PARTS vectors of its columns, or with 0 reads them twice: they are in a
// cache the second time, unless the axis is very long.

using T = ELEMENT;

// What an element becomes, given the whole mass. A row without a finite maximum has no softmax: inf - inf.
struct Finish {
  float maximum, of_row;
  Base base;
  Finish() = default;
  __device__ __forceinline__ explicit Finish(Mass mass)
      : maximum(mass.maximum),
        of_row((LOG_SOFTMAX ? mass.log_of_sum() : __fdividef(1.f, mass.sum)) + (mass.maximum - mass.maximum)),
        base(mass.maximum) {}
  __device__ __forceinline__ T operator()(float x) const {
    if constexpr (LOG_SOFTMAX) return from_float<T>((x - maximum) - of_row);
    else return from_float<T>(base.power(x) * of_row);
  }
};

#if MASKED
// The mask's rows are those of the scores, or fewer.
struct Mask {
  const T* mask;
  INDEX heads, height;
  long long batch_stride, row_stride, columns;
  __device__ __forceinline__ const T* row(long long row) const {
    const INDEX which = static_cast<INDEX>(row), line = which / height;
    return mask + (line / heads * batch_stride + (which - line * height) * row_stride) * columns;
  }
};
#define MASK , const T *mask, INDEX heads, INDEX height, long long batch_stride, long long row_stride
#define HELD float
#else
#define MASK
#define HELD T
#endif
#if SCALED
#define SCALE , float scale
#else
#define SCALE
constexpr float scale = 1.f;
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

// Elements of a vector that are not the row's become negative infinity: they change neither the maximum nor the sum, and no
// element is asked again whether it belongs.
template <typename E> __device__ __forceinline__ void leave_the_rows(const Row& row, int column, Vector<E, W>& vector) {
  if (ALIGNED || (column >= 0 && column + W <= row.columns)) return;
#pragma unroll
  for (int lane = 0; lane < W; ++lane)
    if (!row.holds(column + lane)) vector.at[lane] = from_float<E>(-INFINITY);
}

#if STAGED

// Each thread reads back what it had copied itself.
extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP, MIN_BLOCKS)
softmax_staged_rows(const T* x, T* y, int columns, long long rows) {
  extern __shared__ uint4 staged[];
  Vector<T, W>* const own = reinterpret_cast<Vector<T, W>*>(staged) + threadIdx.x;
  static_assert(sizeof(Vector<T, W>) == 16 && ROWS == 1, "a block's vectors lie side by side");
  cluster_started();
  const long long which = row_of_group();
  const Row row(which, columns);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) copy_async(shared_address(own + v * GROUP), x + row.at + column, true);
  }
  copy_commit();
  copy_wait<0>();
  float maximum = -INFINITY;
#pragma unroll 4
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      Vector<T, W> vector[1] = {own[v * GROUP]};
      if (!ALIGNED && (column < 0 || column + W > columns)) {
        leave_the_rows(row, column, vector[0]);
        own[v * GROUP] = vector[0];
      }
      maximum = fmaxf(maximum, extreme<1, false>(vector));
    }
  }
  maximum = over_lanes<LANES>(maximum, Greatest());
  const Base base(maximum);
  float sum = 0.f;
  // Held in registers besides, vectors would leave room for fewer blocks: they are read anew.
  asm volatile("" ::: "memory");
#pragma unroll 2
  for (int v = 0; v < VECTORS; ++v) {
    if (row.touches(row.column(v))) {
      const Vector<T, W> vector = own[v * GROUP];
#pragma unroll
      for (int lane = 0; lane < W; ++lane) sum += base.power(to_float(vector.at[lane]));
    }
  }
  const Mass of_lanes = {maximum, over_lanes<LANES>(sum, Sum())};
  const Finish finish(over_warps_of_row<0, true>(of_lanes, Together()));
#pragma unroll 2
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      const Vector<T, W> vector = own[v * GROUP];
      Vector<T, W> out;
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out.at[lane] = finish(to_float(vector.at[lane]));
      row.store(y, column, out);
    }
  }
}

#else

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
softmax_rows(const T* x, T* y, int columns, long long rows SCALE MASK) {
  cluster_started();
  const long long which = row_of_group();
  const bool exists = which < rows;
  const Row row(exists ? which : rows - 1, columns);
  Vector<HELD, W> held[VECTORS];
#if MASKED
  const T* added = Mask{mask, heads, height, batch_stride, row_stride, columns}.row(exists ? which : rows - 1);
  Vector<T, W> scores[VECTORS], masks[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      scores[v] = row.load(x, column);
      masks[v] = row.parameter(added, column);
    }
  }
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      held[v].at[lane] = fmaf(to_float(scores[v].at[lane]), scale, to_float(masks[v].at[lane]));
  }
  const auto logit = [](float x) { return x; };
#else
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    if (row.touches(row.column(v))) held[v] = row.load(x, row.column(v));
  const auto logit = [=](T x) { return SCALED ? to_float(x) * scale : to_float(x); };
#endif
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) leave_the_rows(row, row.column(v), held[v]);
  float maximum = -INFINITY;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (row.touches(row.column(v))) {
#if SCALED
#pragma unroll
      for (int lane = 0; lane < W; ++lane) maximum = fmaxf(maximum, logit(held[v].at[lane]));
#else
      maximum = fmaxf(maximum, extreme<1, false>(reinterpret_cast<const Vector<HELD, W>(&)[1]>(held[v])));
#endif
    }
  }
  maximum = over_lanes<LANES>(maximum, Greatest());
  const Base base(maximum);
  float sum = 0.f;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (row.touches(row.column(v))) {
      convert_anew(held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) sum += base.power(logit(held[v].at[lane]));
    }
  }
  const Mass of_lanes = {maximum, over_lanes<LANES>(sum, Sum())};
  const Finish finish(over_warps_of_row<0, true>(of_lanes, Together()));
  if (!exists) return;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      Vector<T, W> out;
      convert_anew(held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) out.at[lane] = finish(logit(held[v].at[lane]));
      row.store(y, column, out);
    }
  }
}

#endif

#endif

#else

// Where a thread's columns are, and which parts of the axis it takes.
struct Columns {
  long long first;  // their first elements
  bool exist;
  __device__ __forceinline__ Columns(long long length, long long inner) {
    const unsigned blocks = static_cast<unsigned>((inner + TX * W - 1) / (TX * W));
    const long long column = static_cast<long long>(blockIdx.x % blocks) * (TX * W) + threadIdx.x * W;
    first = blockIdx.x / blocks * length * inner + column;
    exist = column < inner;
  }
};

// Over the parts of the axis; each thread gets the result for its columns. Of one operation there is one use in a kernel.
template <typename V, typename Op> __device__ __forceinline__ void over_parts(V (&values)[W], Op op) {
  constexpr int WARPS = TX * TY / 32;
  __shared__ Vector<V, W> memory[WARPS][TX];
  const int thread = threadIdx.y * TX + threadIdx.x;
  Vector<V, W> of_warp;
#pragma unroll
  for (int lane = 0; lane < W; ++lane) {
#pragma unroll
    for (int mask = TX; mask < 32; mask *= 2) values[lane] = op(values[lane], exchange(values[lane], mask));
    of_warp.at[lane] = values[lane];
  }
  if (thread % 32 < TX) memory[thread / 32][threadIdx.x] = of_warp;
  __syncthreads();
  of_warp = memory[0][threadIdx.x];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) values[lane] = of_warp.at[lane];
#pragma unroll 2
  for (int warp = 1; warp < WARPS; ++warp) {
    of_warp = memory[warp][threadIdx.x];
#pragma unroll
    for (int lane = 0; lane < W; ++lane) values[lane] = op(values[lane], of_warp.at[lane]);
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
    store_vector(dx + at, out);
  }
}

#elif PARTS

static_assert(!SCALED && !MASKED, "logits are what is given");

extern "C" __global__ void __launch_bounds__(TX * TY, 2) softmax_columns(const T* x, T* y, long long length, long long inner) {
  const Columns columns(length, inner);
  const int parts = columns.exist ? (static_cast<int>(length) - static_cast<int>(threadIdx.y) + TY - 1) / TY : 0;
  const long long first = columns.first + threadIdx.y * inner, step = TY * inner;
  // What is not there becomes negative infinity: it changes neither the maximum nor the sum.
  Vector<T, W> held[PARTS];
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    if (part < parts) {
      held[part] = vector_at(x + first + part * step);
    } else {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) held[part].at[lane] = from_float<T>(-INFINITY);
    }
  }
  float maxima[W], sums[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) {
    maxima[lane] = to_float(held[0].at[lane]);
#pragma unroll
    for (int part = 1; part < PARTS; ++part) maxima[lane] = fmaxf(maxima[lane], to_float(held[part].at[lane]));
  }
  over_parts(maxima, Greatest());
  Base bases[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) bases[lane] = Base(maxima[lane]), sums[lane] = 0.f;
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    convert_anew(held[part]);
#pragma unroll
    for (int lane = 0; lane < W; ++lane) sums[lane] += bases[lane].power(to_float(held[part].at[lane]));
  }
  over_parts(sums, Sum());
  Finish finish[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) finish[lane] = Finish(Mass{maxima[lane], sums[lane]});
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    if (part >= parts) break;
    Vector<T, W> out;
    convert_anew(held[part]);
#pragma unroll
    for (int lane = 0; lane < W; ++lane) out.at[lane] = finish[lane](to_float(held[part].at[lane]));
    store_vector(y + first + part * step, out);
  }
}

#else

extern "C" __global__ void __launch_bounds__(TX * TY)
softmax_columns(const T* x, T* y, long long length, long long inner SCALE MASK) {
  const Columns columns(length, inner);
#if MASKED
  const T* added = Mask{mask, heads, height, batch_stride, row_stride, length}.row(blockIdx.x);
  const auto logit = [=](T x, long long part) { return fmaf(to_float(x), scale, to_float(added[part])); };
#else
  const auto logit = [=](T x, long long) { return SCALED ? to_float(x) * scale : to_float(x); };
#endif
  Mass masses[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) masses[lane] = Together::neutral();
  if (columns.exist) {
#pragma unroll 4
    for (long long part = threadIdx.y; part < length; part += TY) {
      const auto in = vector_at(x + columns.first + part * inner);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) masses[lane].take(logit(in.at[lane], part));
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
    for (int lane = 0; lane < W; ++lane) out.at[lane] = finish[lane](logit(in.at[lane], part));
    store_vector(y + at, out);
  }
}

#endif

#endif
