// Rows of a table, each the sum, the mean or the maximum of those that a bag names.
//
// ELEMENT   the elements
// LANES     elements a vector; a row is a multiple of it
// MAXIMUM   1 for the maximum, else the sum, times `scale`
// COLUMNS   vectors of a bag's row that a team of threads takes
// SHARES    ways that its threads share the bag's rows

using T = ELEMENT;

// A block has as many teams as there are threads for, each with a bag.
constexpr int TEAM = COLUMNS * SHARES, BAGS = 256 / TEAM;

// What is not a number stays where it is the bag's first, and is passed over behind it.
__device__ __forceinline__ float join(float a, float b) {
#if MAXIMUM
  return b > a ? b : a;
#else
  return a + b;
#endif
}

extern "C" __global__ void __launch_bounds__(256) gather_bag(const long long* ids, const T* table, T* y, long long bags, int bag_rows, long long width, float scale) {
  __shared__ float shares[BAGS][SHARES][COLUMNS * LANES + 1];
  const int team = threadIdx.x / TEAM, within = threadIdx.x % COLUMNS, share = threadIdx.x % TEAM / COLUMNS;
  const long long column = (static_cast<long long>(blockIdx.y) * COLUMNS + within) * LANES;
  const long long bag = static_cast<long long>(blockIdx.x) * BAGS + team;
  const bool is_there = bag < bags && column < width;
  float sum[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) sum[lane] = MAXIMUM ? -__int_as_float(0x7f800000) : 0.f;
  if (is_there) {
    const long long* const named = ids + bag * bag_rows;
#pragma unroll 8
    for (int row = share; row < bag_rows; row += SHARES) {
      const auto in = load<T, LANES>(table + named[row] * width + column);
#pragma unroll
      for (int lane = 0; lane < LANES; ++lane) {
        const float element = widen(in.at[lane]);
        sum[lane] = MAXIMUM && row == 0 ? element : join(sum[lane], element);
      }
    }
  }
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) shares[team][share][within * LANES + lane] = sum[lane];
  __syncthreads();
  if (share != 0 || !is_there) return;
#pragma unroll
  for (int other = 1; other < SHARES; ++other) {
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) sum[lane] = join(sum[lane], shares[team][other][within * LANES + lane]);
  }
#if !MAXIMUM
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) sum[lane] *= scale;
#endif
  store<T, LANES>(y + bag * width + column, narrow_all<T>(sum));
}
