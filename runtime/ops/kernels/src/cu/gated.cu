// y = FUNCTION(first, second) of the two halves of a row, or of neighbours in it.
//
// ELEMENT      the elements
// FUNCTION     an expression of first and second, and of the scalars s and t
// INTERLEAVED  1 where first and second alternate along the row, else each is a half of it
// LANES        elements of y a vector; a row is a multiple of it

using T = ELEMENT;

extern "C" __global__ void __launch_bounds__(256) gated(const T* x, T* y, long long vectors, long long width, Divisor row_vectors, float s, float t) {
  const long long vector = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (vector >= vectors) return;
  Vector<T, LANES> in[2];
#if INTERLEAVED
  in[0] = load<T, LANES>(x + vector * 2 * LANES);
  in[1] = load<T, LANES>(x + vector * 2 * LANES + LANES);
#else
#if WIDE
  const long long row = vector / (width / LANES);
#else
  const long long row = row_vectors.of(static_cast<unsigned>(vector));
#endif
  // Behind `row` whole rows of two halves, and as far in it as in a row of y.
  const T* const from = x + vector * LANES + row * width;
  in[0] = load<T, LANES>(from);
  in[1] = load<T, LANES>(from + width);
#endif
  float out[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
#if INTERLEAVED
    const float first = to_float(in[2 * lane / LANES].at[2 * lane % LANES]);
    const float second = to_float(in[(2 * lane + 1) / LANES].at[(2 * lane + 1) % LANES]);
#else
    const float first = to_float(in[0].at[lane]), second = to_float(in[1].at[lane]);
#endif
    out[lane] = FUNCTION;
  }
  store<T, LANES>(y + vector * LANES, narrow_all<T>(out));
}
