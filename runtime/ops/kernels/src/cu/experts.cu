// The rows that each expert gets, in the order of the tokens, and their way there and back.
//
// PLACED   where an expert's rows begin: 0 behind the last expert's, 1 at multiples of `tile`, 2 at multiples of `capacity`
// INDEX    what says whose a row is: 0 nothing, 1 the first row of each expert, 2 the expert of each row, 3 how many each has
// VECTOR   what rows are moved in
// T        the elements of rows that are added up

constexpr int THREADS = 512;

__device__ __forceinline__ int sum_of_block(int value, int* shared) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  int sum = 0;
  for (int warp = 0; warp < THREADS / 32; ++warp) sum += shared[warp];
  __syncthreads();
  return sum;
}

// How many of the values of earlier threads there are.
__device__ __forceinline__ int sum_before(int value, int* shared) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = value;
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    const int other = __shfl_up_sync(~0u, sum, apart);
    if (lane >= apart) sum += other;
  }
  if (lane == 31) shared[warp] = sum;
  __syncthreads();
  int before = 0;
  for (int other = 0; other < warp; ++other) before += shared[other];
  __syncthreads();
  return before + sum - value;
}

// A block an expert: how many rows it has, where they begin, and (with `places`) where each of them stands.
extern "C" __global__ void __launch_bounds__(THREADS)
experts(const int* ids, int rows, int experts, int* counts, int* offsets, const int* known, int* places, int tile) {
  __shared__ int shared[THREADS / 32];
  const int expert = blockIdx.x;
  // Whole vectors a thread.
  const int each = (rows + 4 * THREADS - 1) / (4 * THREADS) * 4;
  const int from = min(static_cast<int>(threadIdx.x) * each, rows), to = min(from + each, rows), whole = from + (to - from) / 4 * 4;
  int mine = 0, less = 0;
  const auto count = [&](int id) { mine += id == expert, less += id < expert; };
#pragma unroll 4
  for (int at = from; at < whole; at += 4) {
    const int4 four = __ldg(reinterpret_cast<const int4*>(ids + at));
    count(four.x), count(four.y), count(four.z), count(four.w);
  }
  for (int at = whole; at < to; ++at) count(ids[at]);
  const int before = sum_before(mine, shared);
  const int total = sum_of_block(mine, shared);
  int start = sum_of_block(less, shared);
  if (threadIdx.x == 0) {
    if (counts != nullptr) counts[expert] = total;
    if (offsets != nullptr) {
      offsets[expert] = start;
      if (expert == experts - 1) offsets[experts] = rows;
    }
  }
  if (places == nullptr) return;
#if PLACED == 1
  int padded = 0;
  for (int other = threadIdx.x; other < expert; other += THREADS) padded += (known[other] + tile - 1) / tile * tile;
  start = sum_of_block(padded, shared);
#elif PLACED == 2
  start = expert * tile;
#endif
  if (mine == 0) return;
  int next = start + before;
  const auto put = [&](int at, int id) {
    if (id != expert) return;
#if PLACED == 2
    places[at] = next < start + tile ? next : -1;
#else
    places[at] = next;
#endif
    ++next;
  };
#pragma unroll 4
  for (int at = from; at < whole; at += 4) {
    const int4 four = __ldg(reinterpret_cast<const int4*>(ids + at));
    put(at, four.x), put(at + 1, four.y), put(at + 2, four.z), put(at + 3, four.w);
  }
  for (int at = whole; at < to; ++at) put(at, ids[at]);
}

// Each token's row to each of its places.
extern "C" __global__ void __launch_bounds__(256)
scatter(const VECTOR* x, const int* places, VECTOR* rows, int each, int width) {
  const int at = blockIdx.y * 256 + threadIdx.x;
  if (at >= width) return;
  const long long token = blockIdx.x;
  const VECTOR value = x[token * width + at];
  for (int of = 0; of < each; ++of) {
    const int place = __ldg(places + token * each + of);
    if (place >= 0) rows[static_cast<long long>(place) * width + at] = value;
  }
}

// Zeros in the rows that no token has, and the index. A block an expert; `end` is behind the last row.
extern "C" __global__ void __launch_bounds__(THREADS)
rest(const int* counts, VECTOR* rows, int* index, int experts, int tile, int end, int width) {
  __shared__ int shared[THREADS / 32];
  const int expert = blockIdx.x;
#if PLACED == 2
  const int start = expert * tile, count = min(counts[expert], tile), next = start + tile;
#else
  int before = 0;
  for (int other = threadIdx.x; other < expert; other += THREADS) before += (counts[other] + tile - 1) / tile * tile;
  const int start = sum_of_block(before, shared), count = counts[expert];
  const int own_end = start + (count + tile - 1) / tile * tile;
  const int next = expert == experts - 1 ? end : own_end;
#endif
  const long long zeros = static_cast<long long>(next - start - count) * width;
  VECTOR* from = rows + static_cast<long long>(start + count) * width;
  VECTOR zero{};
  for (long long at = static_cast<long long>(blockIdx.y) * THREADS + threadIdx.x; at < zeros; at += gridDim.y * THREADS) {
    from[at] = zero;
  }
  if (blockIdx.y != 0) return;
#if INDEX == 1
  if (threadIdx.x == 0) {
    index[expert] = start;
    if (expert == experts - 1) index[experts] = own_end;
  }
#elif INDEX == 2
  for (int row = start + threadIdx.x; row < next; row += THREADS) index[row] = row < start + count ? expert : -1;
#elif INDEX == 3
  if (threadIdx.x == 0) index[expert] = count;
#endif
}

#ifdef T
// y = the sum over a token's rows of their weight times the row, and the shared expert's row.
extern "C" __global__ void __launch_bounds__(256)
combine(const T* rows, const float* weights, const int* places, const T* shared, T* y, int each, int width) {
  const int at = (blockIdx.y * 256 + threadIdx.x) * LANES;
  if (at >= width) return;
  const long long token = blockIdx.x;
  float sum[LANES] = {};
#pragma unroll 8
  for (int of = 0; of < each; ++of) {
    const long long place = __ldg(places + token * each + of);
    const float weight = __ldg(weights + token * each + of);
    const auto row = *reinterpret_cast<const Vector<T, LANES>*>(rows + place * width + at);
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) sum[lane] += weight * to_float(row.at[lane]);
  }
  if (shared != nullptr) {
    const auto row = *reinterpret_cast<const Vector<T, LANES>*>(shared + token * width + at);
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) sum[lane] += to_float(row.at[lane]);
  }
  Vector<T, LANES> out;
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) out.at[lane] = from_float<T>(sum[lane]);
  *reinterpret_cast<Vector<T, LANES>*>(y + token * width + at) = out;
}
#endif
