// Rows, groups of columns and blocks, each with the scale that fits its greatest magnitude into the narrow dtype.
//
// ELEMENT            of x
// RESULT             of q
// RANGE              the greatest magnitude of the narrow dtype
// SCALE              0: the quotient; 1: the power of two that is not below it; 2: MX: the power of two of the greatest
//                    magnitude, less EXPONENT, the dtype's own greatest, as its exponent with a bias of 127
// PACKED             1 for two codes of four bits a byte, the first in the low half
// BLOCK              1 for blocks of HEIGHT rows and ACROSS vectors of columns instead of rows

using T = ELEMENT;
using Y = RESULT;

template <typename A, typename B> constexpr bool IS_SAME = false;
template <typename A> constexpr bool IS_SAME<A, A> = true;

// The least power of two that is not below x, or the greatest that is not above it. Of zero, the least.
__device__ __forceinline__ int exponent_above(float x) {
  if (!(x > 0.f)) return -127;
  const int exponent = ilogbf(x);
  return ldexpf(1.f, exponent) < x ? exponent + 1 : exponent;
}

__device__ __forceinline__ int exponent_below(float x) { return x > 0.f ? ilogbf(x) : -127; }

struct Scaling {
  float divisor = 0.f;  // what codes are counted in
  int exponent = 0;
  Quotient quotient{1.f};
  float factor = 0.f;   // its reciprocal, where that is exact

  __device__ __forceinline__ explicit Scaling(float greatest) {
    if constexpr (SCALE == 2) {
      // The scale has no infinity: what is infinite leaves no number, whose exponent is the last one.
      const bool is_finite = greatest < INFINITY;
      exponent = is_finite ? min(max(exponent_below(greatest) - EXPONENT, -127), 127) : 128;
      divisor = is_finite ? ldexpf(1.f, exponent) : __int_as_float(0x7fffffff);
    } else {
      divisor = greatest / RANGE;
      if constexpr (SCALE == 1)
        if (divisor > 0.f && divisor < INFINITY) divisor = ldexpf(1.f, exponent_above(divisor));
      // Whole numbers have nothing that is not a number, and no quotient of infinities: all of them are zero then.
      if constexpr (SCALE == 0) quotient = Quotient(IS_SAME<Y, signed char> && !(divisor < INFINITY) ? 0.f : divisor);
    }
    if constexpr (SCALE != 0) factor = divisor == 0.f ? 0.f : 1.f / divisor;
  }

  // Nothing but zeros have a scale of zero.
  __device__ __forceinline__ float code(float x) const {
    if constexpr (SCALE == 0) return quotient(x);
    else return x * factor;
  }

  __device__ __forceinline__ void store(void* scales, long long at) const {
    if constexpr (SCALE == 2) static_cast<unsigned char*>(scales)[at] = static_cast<unsigned char>(exponent + 127);
    else static_cast<float*>(scales)[at] = divisor;
  }
};

// 0, 0.5, 1, 1.5, 2, 3, 4, 6 by their number, ties to the even one, with the sign above.
__device__ __forceinline__ unsigned four_bits(float x) {
  const float a = fabsf(x);
  const unsigned code = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (a > 5.f);
  return code | (signbit(x) ? 8u : 0u);
}

#if PACKED
using Codes = Vector<unsigned char, W / 2>;
#else
using Codes = Vector<Y, W>;
#endif

__device__ __forceinline__ Codes codes(const Scaling& scaling, const Vector<T, W>& x) {
  Codes out;
#if PACKED
#pragma unroll
  for (int pair = 0; pair < W / 2; ++pair)
    out.at[pair] = four_bits(scaling.code(to_float(x.at[2 * pair]))) |
                   four_bits(scaling.code(to_float(x.at[2 * pair + 1]))) << 4;
#else
  float numbers[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) numbers[lane] = scaling.code(to_float(x.at[lane]));
  Narrow<Y, true>::run(numbers, out);
#endif
  return out;
}

#if BLOCK

// A block of HEIGHT rows and ACROSS vectors, by a block of threads. W divides the columns of a block and of x.
extern "C" __global__ void __launch_bounds__(GROUP)
quantize_blocks(const T* x, Y* q, void* scales, long long rows, long long columns) {
  const unsigned blocks = static_cast<unsigned>((columns + ACROSS * W - 1) / (ACROSS * W));
  const long long top = static_cast<long long>(blockIdx.x / blocks) * HEIGHT;
  const long long left = static_cast<long long>(blockIdx.x % blocks) * (ACROSS * W);
  constexpr int ALL = HEIGHT * ACROSS;
  Vector<T, W> held[VECTORS];
  const auto exists = [&](int index) {
    return index < ALL && top + index / ACROSS < rows && left + index % ACROSS * W < columns;
  };
  const auto at = [&](int index) { return (top + index / ACROSS) * columns + left + index % ACROSS * W; };
  float greatest = 0.f;
  const auto look = [&](const Vector<T, W>& vector) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane) greatest = maximum(greatest, fabsf(to_float(vector.at[lane])));
  };
  const auto load = [&](int index) { return *reinterpret_cast<const Vector<T, W>*>(x + at(index)); };
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int index = v * GROUP + threadIdx.x;
    if (exists(index)) held[v] = load(index);
  }
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    if (exists(v * GROUP + threadIdx.x)) look(held[v]);
  // What is beyond is read again.
  for (int index = VECTORS * GROUP + threadIdx.x; index < ALL; index += GROUP)
    if (exists(index)) look(load(index));
  const Scaling scaling(over_block<GROUP, 0>(greatest, GreatestOrNan()));
  if (threadIdx.x == 0) scaling.store(scales, blockIdx.x);
  const auto store = [&](int index, const Codes& out) { *reinterpret_cast<Codes*>(q + at(index)) = out; };
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int index = v * GROUP + threadIdx.x;
    convert_anew(held[v]);
    if (exists(index)) store(index, codes(scaling, held[v]));
  }
  for (int index = VECTORS * GROUP + threadIdx.x; index < ALL; index += GROUP)
    if (exists(index)) store(index, codes(scaling, load(index)));
}

#else

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
quantize_rows(const T* x, Y* q, void* scales, int columns, long long rows) {
  cluster_started();
  const long long which = row_of_group();
  const Row row(which < rows ? which : rows - 1, columns);
  Vector<T, W> held[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) held[v] = row.load(x, column);
  }
  float greatest = 0.f;
  const auto look = [&](const Vector<T, W>& vector, int column) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (ALIGNED || row.holds(column + lane)) greatest = maximum(greatest, fabsf(to_float(vector.at[lane])));
  };
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) look(held[v], column);
  }
  // What is beyond is read again.
  if constexpr (LONG)
    for (int v = VECTORS; row.touches(row.column(v)); ++v) look(row.load(x, row.column(v)), row.column(v));
  const Scaling scaling(over_row<0, true>(greatest, GreatestOrNan()));
  if (which >= rows) return;
  if (threadIdx.x % GROUP == 0 && (CLUSTER == 1 || cluster_rank() == 0)) scaling.store(scales, which);
  const auto store = [&](int column, const Codes& out) {
#if PACKED
    *reinterpret_cast<Codes*>(q + (row.at + column) / 2) = out;
#else
    row.store(q, column, out);
#endif
  };
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(v);
    if (row.touches(column)) {
      convert_anew(held[v]);
      store(column, codes(scaling, held[v]));
    }
  }
  if constexpr (LONG)
    for (int v = VECTORS; row.touches(row.column(v)); ++v)
      store(row.column(v), codes(scaling, row.load(x, row.column(v))));
}

#endif
