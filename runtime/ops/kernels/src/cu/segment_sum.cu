// The rows of each segment, summed.
//
// ELEMENT    of x; y has single precision
// WIDTH      columns of a thread; it divides the columns
//
// A block has 16 lanes, 16 parts of the rows, and one of `splits` of a segment's rows.

using T = ELEMENT;

extern "C" __global__ void __launch_bounds__(256, 4)
segment_sum(const T* x, const int* starts, const int* lengths, float* sums, long long columns, int splits) {
  __shared__ float parts[16][16 * W];
  const unsigned blocks = static_cast<unsigned>((columns + 16 * W - 1) / (16 * W));
  const unsigned split = blockIdx.x % splits, block = blockIdx.x / splits % blocks, segment = blockIdx.x / splits / blocks;
  const long long column = block * (16ll * W) + threadIdx.x * W;
  const int length = lengths[segment], share = (length + splits - 1) / splits;
  const long long start = starts[segment] + static_cast<long long>(split) * share;
  const long long end = starts[segment] + min(static_cast<long long>(length), (split + 1ll) * share);
  float sum[W] = {};
  if (column < columns) {
    constexpr int UNROLL = 8;
    for (long long row = start + threadIdx.y; row < end; row += 16 * UNROLL) {
      Held<T> held[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u)
        if (row + 16 * u < end) held[u] = *reinterpret_cast<const Held<T>*>(x + (row + 16 * u) * columns + column);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        if (row + 16 * u < end) {
#pragma unroll
          for (int lane = 0; lane < W; ++lane) sum[lane] += to_float(vectors_of<T>(held)[u].at[lane]);
        }
      }
    }
  }
#pragma unroll
  for (int lane = 0; lane < W; ++lane) parts[threadIdx.y][threadIdx.x * W + lane] = sum[lane];
  __syncthreads();
  for (int mine = threadIdx.y * 16 + threadIdx.x; mine < 16 * W; mine += 256) {
    float all = 0.f;
#pragma unroll
    for (int part = 0; part < 16; ++part) all += parts[part][mine];
    const long long at = block * (16ll * W) + mine;
    if (at < columns) sums[(static_cast<long long>(segment) * splits + split) * columns + at] = all;
  }
}

// The splits of each segment joined, in their order.
extern "C" __global__ void __launch_bounds__(256)
join_splits(const float* sums, float* y, long long columns, long long outputs, int splits) {
  const long long output = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (output >= outputs) return;
  const long long segment = output / columns, column = output % columns;
  float sum = 0.f;
#pragma unroll 8
  for (int split = 0; split < splits; ++split) sum += sums[(segment * splits + split) * columns + column];
  y[output] = sum;
}
