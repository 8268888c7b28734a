// y = FUNCTION(a, b) or FUNCTION(a, b, c), element by element, of operands that are broadcast to y.
//
// TA, TB, TC, TY           the elements; TC only where there are three operands
// HOW_A, HOW_B, HOW_C      how an operand is read, see below
// FUNCTION(a, b, c)        an expression of the operands, as they are computed, and of the scalars s and t
// SCALAR                   their type
// LANES                    elements a vector; where there are axes, the innermost is a multiple of it
// VECTORS                  vectors a thread, all loaded before the first is computed
// AXES                     axes of y, those that every operand steps through alike taken together; 0 where that is all
// REPEAT                   steps along the outermost axis that a thread takes, or 0: then operands that stay the same along
//                          it are read once for them, and VECTORS is REPEAT
// WIDE                     1 where positions need 64 bits
// WORDS(a, b)              the function of four Booleans at a time, a byte each, where there is such a one

#define ALIKE 0   // as y lies
#define ONE 1     // the one element that it has
#define ALONG 2   // by the strides of its axes, the innermost stepping through elements
#define ACROSS 3  // the same, with one element for all of the innermost axis

#ifdef TC
#define OPERANDS 3
#else
#define OPERANDS 2
#endif

#if WIDE
using Position = unsigned long long;
struct Extent {
  Position by;
  __device__ __forceinline__ Position of(Position x) const { return x / by; }
};
#else
using Position = unsigned;
using Extent = Divisor;
#endif

#if AXES > 0
// Positions count vectors of y, and strides are in elements of an operand.
struct Axes {
  Extent extents[AXES];
  Position strides[OPERANDS][AXES];
};
#endif

#ifdef WORDS
static_assert(LANES % 4 == 0 && sizeof(TA) == 1 && sizeof(TB) == 1 && sizeof(TY) == 1, "four Booleans are a word");
template <typename T> using Held = Vector<unsigned, LANES / 4>;
template <int HOW, typename T> __device__ __forceinline__ Held<T> read(const T* from, long long alike, long long placed) {
  if constexpr (HOW == ALIKE || HOW == ALONG) {
    return load<unsigned, LANES / 4>(reinterpret_cast<const unsigned*>(from + (HOW == ALIKE ? alike : placed)));
  } else {
    Held<T> same;
    const unsigned word = *(HOW == ONE ? from : from + placed) ? 0x01010101u : 0u;
#pragma unroll
    for (int at = 0; at < LANES / 4; ++at) same.at[at] = word;
    return same;
  }
}
#else
template <typename T> using Held = Vector<T, LANES>;
template <int HOW, typename T> __device__ __forceinline__ Held<T> read(const T* from, long long alike, long long placed) {
  if constexpr (HOW == ALIKE) return load<T, LANES>(from + alike);
  else if constexpr (HOW == ALONG) return load<T, LANES>(from + placed);
  Vector<T, LANES> same;
  const T element = HOW == ONE ? from[0] : from[placed];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) same.at[lane] = element;
  return same;
}
#endif

__device__ __forceinline__ auto apply(Computed<TA> a, Computed<TB> b,
#if OPERANDS == 3
                                      Computed<TC> c,
#endif
                                      SCALAR s, SCALAR t) {
  return FUNCTION;
}

// y may be an operand that is read as y lies.
extern "C" __global__ void __launch_bounds__(256) broadcast(const TA* a, const TB* b,
#if OPERANDS == 3
                                                            const TC* c,
#endif
                                                            TY* y, long long elements, SCALAR s, SCALAR t
#if AXES > 0
                                                            , Axes axes
#endif
) {
  Held<TA> in_a[VECTORS];
  Held<TB> in_b[VECTORS];
#if OPERANDS == 3
  Held<TC> in_c[VECTORS];
#endif
#if REPEAT
  // Positions of vectors, those along the outermost axis taken REPEAT at a time.
  Position rest = static_cast<Position>(blockIdx.x) * 256 + threadIdx.x;
  const Position first = rest;
  long long placed[3] = {0, 0, 0}, inner = LANES;
#pragma unroll
  for (int axis = AXES - 1; axis >= 1; --axis) {
    const Position outer = axes.extents[axis].of(rest), along = rest - outer * axes.extents[axis].by;
#pragma unroll
    for (int operand = 0; operand < OPERANDS; ++operand) {
      placed[operand] += static_cast<long long>(static_cast<unsigned long long>(along) * axes.strides[operand][axis]);
    }
    inner *= axes.extents[axis].by;
    rest = outer;
  }
  const long long row = static_cast<long long>(rest) * REPEAT;
  const int rows = static_cast<int>(min(static_cast<long long>(axes.extents[0].by) - row, static_cast<long long>(REPEAT)));
  // As far behind a row's start as `first` is behind the rows before.
  const long long begin = row * inner + (static_cast<long long>(first) * LANES - static_cast<long long>(rest) * inner);
  const auto start_of = [&](int v) { return begin + v * inner; };
  const auto is_there = [&](int v) { return v < rows; };
#pragma unroll
  for (int operand = 0; operand < OPERANDS; ++operand) placed[operand] += row * static_cast<long long>(axes.strides[operand][0]);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (!is_there(v)) break;
    // A stride of zero is known here, so that what is the same is read once.
    in_a[v] = v > 0 && SAME_A ? in_a[0] : read<HOW_A>(a, start_of(v), placed[0] + v * static_cast<long long>(axes.strides[0][0]));
    in_b[v] = v > 0 && SAME_B ? in_b[0] : read<HOW_B>(b, start_of(v), placed[1] + v * static_cast<long long>(axes.strides[1][0]));
#if OPERANDS == 3
    in_c[v] = v > 0 && SAME_C ? in_c[0] : read<HOW_C>(c, start_of(v), placed[2] + v * static_cast<long long>(axes.strides[2][0]));
#endif
  }
#else
  const long long first = static_cast<long long>(blockIdx.x) * (256 * VECTORS) + threadIdx.x;
  const auto start_of = [&](int v) { return (first + v * 256) * LANES; };
  const auto is_there = [&](int v) { return start_of(v) + LANES <= elements; };
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (!is_there(v)) break;
    long long placed[3] = {0, 0, 0};
#if AXES > 0
    Position rest = static_cast<Position>(first + v * 256);
#pragma unroll
    for (int axis = AXES - 1; axis >= 0; --axis) {
      const Position outer = axis == 0 ? 0 : axes.extents[axis].of(rest);
      const Position along = axis == 0 ? rest : rest - outer * axes.extents[axis].by;
#pragma unroll
      for (int operand = 0; operand < OPERANDS; ++operand) {
        placed[operand] += static_cast<long long>(static_cast<unsigned long long>(along) * axes.strides[operand][axis]);
      }
      rest = outer;
    }
#endif
    in_a[v] = read<HOW_A>(a, start_of(v), placed[0]);
    in_b[v] = read<HOW_B>(b, start_of(v), placed[1]);
#if OPERANDS == 3
    in_c[v] = read<HOW_C>(c, start_of(v), placed[2]);
#endif
  }
#endif
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const long long start = start_of(v);
    if (!is_there(v)) {
#if AXES == 0
      // Behind the last whole vector.
      for (long long at = start; at < elements; ++at) {
        y[at] = narrow<TY>(apply(widen(a[HOW_A == ALIKE ? at : 0]), widen(b[HOW_B == ALIKE ? at : 0]),
#if OPERANDS == 3
                                 widen(c[HOW_C == ALIKE ? at : 0]),
#endif
                                 s, t));
      }
#endif
      return;
    }
#ifdef WORDS
    Vector<unsigned, LANES / 4> words;
#pragma unroll
    for (int at = 0; at < LANES / 4; ++at) words.at[at] = WORDS(in_a[v].at[at], in_b[v].at[at]);
    store<unsigned, LANES / 4>(reinterpret_cast<unsigned*>(y + start), words);
#else
    decltype(apply(widen(in_a[0].at[0]), widen(in_b[0].at[0]),
#if OPERANDS == 3
                   widen(in_c[0].at[0]),
#endif
                   s, t)) out[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      out[lane] = apply(widen(in_a[v].at[lane]), widen(in_b[v].at[lane]),
#if OPERANDS == 3
                        widen(in_c[v].at[lane]),
#endif
                        s, t);
    }
    store_narrow(y + start, out);
#endif
  }
}
