// y = FUNCTION, by position alone.
//
// TY           the elements
// TD           the elements of `data`, of which a plane has one; where there are any
// FUNCTION     an expression of plane, row and column, of the integers p and q, and of the plane's `datum`
// LANES        elements a vector; a row is a multiple of it
// FROM, TO     where they are there, instead of FUNCTION: the columns of a row that have the value INSIDE, the others having
//              OUTSIDE; expressions of what FUNCTION is one of, but for the column

#ifdef TD
#define DATUM , TD datum
#define WITH_DATUM , data[plane]
#else
#define DATUM
#define WITH_DATUM
#endif
#ifndef FROM
__device__ __forceinline__ auto element(int plane, int row, int column, int p, int q DATUM) { return FUNCTION; }
#endif

extern "C" __global__ void __launch_bounds__(256) position(
#ifdef TD
    const TD* data,
#endif
    TY* y, long long vectors, Divisor row_vectors, Divisor rows, int p, int q) {
  const long long vector = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (vector >= vectors) return;
#if WIDE
  const long long line = vector / row_vectors.by;
  const int plane = static_cast<int>(line / rows.by);
  const int first = static_cast<int>(vector - line * row_vectors.by) * LANES;
  const int row = static_cast<int>(line - static_cast<long long>(plane) * rows.by);
#else
  const unsigned line = row_vectors.of(static_cast<unsigned>(vector));
  const int plane = static_cast<int>(rows.of(line));
  const int first = static_cast<int>(static_cast<unsigned>(vector) - line * row_vectors.by) * LANES;
  const int row = static_cast<int>(line - plane * rows.by);
#endif
#ifdef FROM
#ifdef TD
  const TD datum = data[plane];
#endif
  const int from = FROM, to = TO;
  const TY inside = narrow<TY>(INSIDE), outside = narrow<TY>(OUTSIDE);
  Vector<TY, LANES> out;
  // Most vectors are on one side of the border.
  const bool all = from <= first && first + LANES <= to;
  if (all || first >= to || first + LANES <= from) {
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) out.at[lane] = all ? inside : outside;
  } else {
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) out.at[lane] = from <= first + lane && first + lane < to ? inside : outside;
  }
  store<TY, LANES>(y + vector * LANES, out);
#else
  decltype(element(0, 0, 0, 0, 0 WITH_DATUM)) out[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) out[lane] = element(plane, row, first + lane, p, q WITH_DATUM);
  store<TY, LANES>(y + vector * LANES, narrow_all<TY>(out));
#endif
}
