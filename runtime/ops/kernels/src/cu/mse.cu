// The mean of squared differences: a sum a block, and then the sum of these.
//
// ELEMENT the elements

using T = ELEMENT;

constexpr int LANES = 16 / sizeof(T);

__device__ __forceinline__ float sum_of_block(float x) {
  __shared__ float warps[8];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0.f;
#pragma unroll
  for (int warp = 0; warp < 8; ++warp) sum += warps[warp];
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) mse_partial(const T* input, const T* target, float* partial, long long elements) {
  const long long threads = static_cast<long long>(gridDim.x) * 256, thread = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const long long vectors = elements / LANES;
  float sum = 0.f;
#pragma unroll 4
  for (long long vector = thread; vector < vectors; vector += threads) {
    const auto a = load<T, LANES>(input + vector * LANES), b = load<T, LANES>(target + vector * LANES);
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      const float difference = to_float(a.at[lane]) - to_float(b.at[lane]);
      sum = fmaf(difference, difference, sum);
    }
  }
  if (thread < elements - vectors * LANES) {
    const float difference = to_float(input[vectors * LANES + thread]) - to_float(target[vectors * LANES + thread]);
    sum = fmaf(difference, difference, sum);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) mse_whole(const float* partial, float* loss, int partials, double elements) {
  float sum = 0.f;
  for (int at = threadIdx.x; at < partials; at += 256) sum += partial[at];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *loss = static_cast<float>(sum / elements);
}
