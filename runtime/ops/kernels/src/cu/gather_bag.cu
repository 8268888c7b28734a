// Rows of a table, each the sum, the mean or the maximum of those that a bag names.
//
// ELEMENT   the elements
// LANES     elements a vector; a row is a multiple of it
// MAXIMUM   1 for the maximum, else the sum, times `scale`

using T = ELEMENT;

// A block takes COLUMNS vectors of one bag's row; its threads share the bag's rows, SHARES ways.
constexpr int SHARES = 256 / COLUMNS;

__device__ __forceinline__ float join(float a, float b) {
#if MAXIMUM
  return maximum(a, b);
#else
  return a + b;
#endif
}

extern "C" __global__ void __launch_bounds__(256) gather_bag(const long long* ids, const T* table, T* y, int bag_rows, long long width, float scale) {
  __shared__ float shares[SHARES][COLUMNS * LANES + 1];
  const int within = threadIdx.x % COLUMNS, share = threadIdx.x / COLUMNS;
  const long long column = (static_cast<long long>(blockIdx.y) * COLUMNS + within) * LANES;
  const long long bag = blockIdx.x;
  float sum[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) sum[lane] = MAXIMUM ? -__int_as_float(0x7f800000) : 0.f;
  if (column < width) {
    const long long* const named = ids + bag * bag_rows;
#pragma unroll 8
    for (int row = share; row < bag_rows; row += SHARES) {
      const auto in = load<T, LANES>(table + named[row] * width + column);
#pragma unroll
      for (int lane = 0; lane < LANES; ++lane) sum[lane] = join(sum[lane], widen(in.at[lane]));
    }
  }
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) shares[share][within * LANES + lane] = sum[lane];
  __syncthreads();
  if (share != 0 || column >= width) return;
#pragma unroll
  for (int other = 1; other < SHARES; ++other) {
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) sum[lane] = join(sum[lane], shares[other][within * LANES + lane]);
  }
#if !MAXIMUM
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) sum[lane] *= scale;
#endif
  store<T, LANES>(y + bag * width + column, narrow_all<T>(sum));
}
