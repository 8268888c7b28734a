// Rows of tables, by number.
//
// ELEMENT the elements
// LANES   elements a vector; a row is a multiple of it

using T = ELEMENT;

// y[i] = table[ids[i]], or that times `scale` where SCALED.
extern "C" __global__ void __launch_bounds__(256) gather(const long long* ids, const T* table, T* y, long long vectors, Divisor row_vectors, long long width, float scale) {
  const long long vector = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (vector >= vectors) return;
#if WIDE
  const long long row = vector / (width / LANES);
#else
  const long long row = row_vectors.of(static_cast<unsigned>(vector));
#endif
  const long long column = vector * LANES - row * width;
  const auto in = load<T, LANES>(table + ids[row] * width + column);
#if SCALED
  float out[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) out[lane] = widen(in.at[lane]) * scale;
  store<T, LANES>(y + vector * LANES, narrow_all<T>(out));
#else
  store<T, LANES>(y + vector * LANES, in);
#endif
}

#if BERT
// The sum of a token's word, of its position's row and of its segment's.
extern "C" __global__ void __launch_bounds__(256) gather_sum(const long long* ids, const long long* types, const T* words, const T* positions, const T* segments, T* y, long long vectors, long long width, long long length) {
  const long long vector = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (vector >= vectors) return;
  const long long token = vector / (width / LANES), column = vector * LANES - token * width;
  const auto word = load<T, LANES>(words + ids[token] * width + column);
  const auto position = load<T, LANES>(positions + token % length * width + column);
  const auto segment = load<T, LANES>(segments + types[token] * width + column);
  float out[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) out[lane] = widen(word.at[lane]) + widen(position.at[lane]) + widen(segment.at[lane]);
  store<T, LANES>(y + vector * LANES, narrow_all<T>(out));
}
#endif
