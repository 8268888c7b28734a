// What goes before and after a library's matrix product.
//
// T       the elements of the result
// S       the elements that it is made of
// LANES   how many a thread takes, of one row

__device__ __forceinline__ long long first() {
  return (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * LANES;
}

#ifdef SPREAD
// y = factor * x, x repeated along the axes whose stride is zero. More than one element a thread lie as those of y do.
extern "C" __global__ void __launch_bounds__(256)
spread(const S* x, T* y, float factor, long long elements, int columns, int row_stride, int column_stride) {
  const long long at = first();
  if (at >= elements) return;
#if LANES > 1
  const auto in = *reinterpret_cast<const Vector<S, LANES>*>(x + at);
  Vector<T, LANES> out;
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) out.at[lane] = from_float<T>(factor * to_float(in.at[lane]));
  *reinterpret_cast<Vector<T, LANES>*>(y + at) = out;
#else
  const long long row = at / columns, column = at % columns;
  y[at] = from_float<T>(factor * to_float(x[row * row_stride + column * column_stride]));
#endif
}
#endif

#ifdef RESCALE
// y = x * a * b: `a` has a number for each `rows_a` rows, `b` one a column, or one for each `rows_b` rows.
extern "C" __global__ void __launch_bounds__(256)
rescale(const S* x, const float* a, const float* b, T* y, long long elements, int columns, int rows_a, int rows_b) {
  const long long at = first();
  if (at >= elements) return;
  const long long row = at / columns, column = at % columns;
  const auto in = *reinterpret_cast<const Vector<S, LANES>*>(x + at);
  const float of_row = a[row / rows_a];
  Vector<T, LANES> out;
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
    const float of_column = b[BY_COLUMN ? column + lane : row / rows_b];
    out.at[lane] = from_float<T>(static_cast<float>(in.at[lane]) * of_row * of_column);
  }
  *reinterpret_cast<Vector<T, LANES>*>(y + at) = out;
}
#endif

#ifdef ADD
// y = a + b.
extern "C" __global__ void __launch_bounds__(256) add(const S* a, const S* b, T* y, long long elements) {
  const long long at = first();
  if (at >= elements) return;
  const auto x = *reinterpret_cast<const Vector<S, LANES>*>(a + at);
  const auto z = *reinterpret_cast<const Vector<S, LANES>*>(b + at);
  Vector<T, LANES> out;
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) out.at[lane] = from_float<T>(to_float(x.at[lane]) + to_float(z.at[lane]));
  *reinterpret_cast<Vector<T, LANES>*>(y + at) = out;
}
#endif

#ifdef ACTIVATION
__device__ __forceinline__ float activate(float x) { return ACTIVATION; }

// y = ACTIVATION(gate) * up, whose rows are `stride` elements apart. BEHIND says whether a row of `up` is behind the gate's.
extern "C" __global__ void __launch_bounds__(256)
gated(const S* gate, const S* up, T* y, long long elements, int columns, int stride) {
  const long long at = first();
  if (at >= elements) return;
  const long long from = at / columns * stride + at % columns;
  const auto g = *reinterpret_cast<const Vector<S, LANES>*>(gate + from);
  const auto u = *reinterpret_cast<const Vector<S, LANES>*>(up + from + (BEHIND ? columns : 0));
  Vector<T, LANES> out;
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) out.at[lane] = from_float<T>(activate(to_float(g.at[lane])) * to_float(u.at[lane]));
  *reinterpret_cast<Vector<T, LANES>*>(y + at) = out;
}
#endif
