// Cosines and sines of position times frequency.
//
// ELEMENT the elements
// LANES  columns a thread; there is a multiple of it
// TABLE  1 where frequencies are read, else they are period^(-column / columns)

using T = ELEMENT;

constexpr int ROWS = 4;

// `cos` and `sin` are matrices of `columns` columns, a row every `stride` elements; without a TABLE they are one, which `sin`
// is the start of: the cosines are the columns behind the sines.
extern "C" __global__ void __launch_bounds__(256) angles(
#if TABLE
    const float* frequencies,
#endif
    T* cos, T* sin, long long length, int columns, long long stride, double log2_period, float factor) {
#if !TABLE
  cos = sin + columns;
#endif
  const int row_threads = columns / LANES;
  const long long thread = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const long long group = thread / row_threads;
  const int column = static_cast<int>(thread - group * row_threads) * LANES;
  // In two parts: a long context's angles are beyond what single precision tells apart.
  float high[LANES], low[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
#if TABLE
    high[lane] = frequencies[column + lane], low[lane] = 0.f;
#else
    const double frequency = exp2(-log2_period * (column + lane) / columns);
    high[lane] = static_cast<float>(frequency), low[lane] = static_cast<float>(frequency - high[lane]);
#endif
  }
#pragma unroll 1
  for (int of = 0; of < ROWS; ++of) {
    const long long row = group * ROWS + of;
    if (row >= length) return;
    // Exact as a single; no table is longer than 2^24.
    const float position = static_cast<float>(row);
    float c[LANES], s[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      const float angle = position * high[lane];
      const float error = fmaf(position, high[lane], -angle) + position * low[lane];
      float sine, cosine;
      sincosf(angle, &sine, &cosine);
      // Turned on by what the product lost, which is up to 2^-7: sine and cosine of that by their series.
      const float turn = error * fmaf(error * error, -1.f / 6.f, 1.f), shrink = -0.5f * error * error;
      c[lane] = factor * (cosine + fmaf(shrink, cosine, -turn * sine));
      s[lane] = factor * (sine + fmaf(shrink, sine, turn * cosine));
    }
    store<T, LANES>(cos + row * stride + column, narrow_all<T>(c));
    store<T, LANES>(sin + row * stride + column, narrow_all<T>(s));
  }
}
