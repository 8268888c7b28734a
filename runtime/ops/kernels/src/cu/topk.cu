// The k greatest of each row, or the least, in their order; of equal ones those that come first.
//
// ELEMENT     of the rows
// LARGEST     0 for the least
// CAPACITY    a power of two, at least k: pairs that a block sorts in shared memory
//
// `select_rows`: a block a row. A histogram of the keys' highest bits gives the bin that the k-th lies in. What is above is
// chosen; where the bin's own fit into shared memory as well, both are sorted there, and otherwise the next bits are looked
// at, until only equal keys are left. `rank_rows`: each element counts those before it; for short rows, and for any k.

using T = ELEMENT;

// Numbers as integers of the same order. What is not a number is above all.
__device__ __forceinline__ unsigned key_of(T element) {
  const float x = to_float(element);
  const unsigned bits = __float_as_uint(x == 0.f ? 0.f : x);
  const unsigned key = x != x ? 0xffffffffu : bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return LARGEST ? key : ~key;
}

// The key, and the place such that the first is the greatest.
__device__ __forceinline__ unsigned long long pair_of(unsigned key, unsigned place) {
  return static_cast<unsigned long long>(key) << 32 | (0xffffffffu - place);
}

__device__ __forceinline__ unsigned place_of(unsigned long long pair) {
  return 0xffffffffu - static_cast<unsigned>(pair);
}

#ifdef CAPACITY

constexpr int THREADS = 1024;
constexpr int BINS = 2048;

// The bin of `bins` that the `wanted`-th from above is in, and how many are above that bin: by all threads.
__device__ __forceinline__ void find(const unsigned* bins, unsigned wanted, unsigned* found) {
  __shared__ unsigned of_warps[THREADS / 32];
  // Bins from the highest on, two a thread.
  const unsigned high = BINS - 1 - 2 * threadIdx.x, a = bins[high], b = bins[high - 1];
  unsigned up_to = a + b;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int below = 1; below < 32; below *= 2) {
    const unsigned before = __shfl_up_sync(0xffffffffu, up_to, below);
    if (lane >= below) up_to += before;
  }
  if (lane == 31) of_warps[warp] = up_to;
  __syncthreads();
  unsigned above = up_to - a - b;
  for (int other = 0; other < warp; ++other) above += of_warps[other];
  if (above < wanted && wanted <= above + a) { found[0] = high; found[1] = above; found[2] = a; }
  if (above + a < wanted && wanted <= above + a + b) { found[0] = high - 1; found[1] = above + a; found[2] = b; }
  __syncthreads();
}

// Visits every element of a row that starts `start` elements from a multiple of W: by vectors, and one by one what is before
// and behind them.
template <typename F> __device__ __forceinline__ void visit(const T* row, int start, int columns, F f) {
  const int thread = threadIdx.x, head = min(columns, (W - start) % W), vectors = (columns - head) / W;
  if (thread < head) f(row[thread], thread);
  for (int first = thread; first < vectors; first += 4 * THREADS) {
    Vector<T, W> held[4];
#pragma unroll
    for (int u = 0; u < 4; ++u)
      if (first + u * THREADS < vectors)
        held[u] = *reinterpret_cast<const Vector<T, W>*>(row + head + (first + u * THREADS) * W);
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (first + u * THREADS < vectors) {
#pragma unroll
        for (int lane = 0; lane < W; ++lane) f(held[u].at[lane], head + (first + u * THREADS) * W + lane);
      }
    }
  }
  for (int at = head + vectors * W + thread; at < columns; at += THREADS) f(row[at], at);
}

extern "C" __global__ void __launch_bounds__(THREADS)
select_rows(const T* x, T* values, long long* places, int columns, int k) {
  __shared__ unsigned long long chosen[CAPACITY];
  __shared__ unsigned bins[BINS];
  __shared__ unsigned found[3], many, of_warps[THREADS / 32];
  const long long first = static_cast<long long>(blockIdx.x) * columns;
  const T* row = x + first;
  const int start_of_row = static_cast<int>(first % W);
  unsigned prefix = 0, known = 0, wanted = k, bound = columns;
  int shift = 21;
  while (true) {
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) bins[bin] = 0;
    __syncthreads();
    visit(row, start_of_row, columns, [&](T element, unsigned) {
      const unsigned key = key_of(element);
      if ((key & known) == prefix) atomicAdd(&bins[key >> shift & (BINS - 1)], 1u);
    });
    __syncthreads();
    find(bins, wanted, found);
    prefix |= found[0] << shift;
    known |= static_cast<unsigned>(BINS - 1) << shift;
    wanted -= found[1];
    bound = found[2];
    // The bin's own and those above fit, or there are no more bits.
    if (k - wanted + bound <= CAPACITY || known == 0xffffffffu) break;
    // 11 bits, 11 bits, and the last 10.
    shift = shift == 21 ? 10 : 0;
    __syncthreads();
  }
  const bool all_fit = k - wanted + bound <= CAPACITY;
  if (threadIdx.x == 0) many = 0;
  __syncthreads();
  visit(row, start_of_row, columns, [&](T element, unsigned place) {
    const unsigned key = key_of(element);
    if (all_fit ? (key & known) >= prefix : key > prefix) chosen[atomicAdd(&many, 1u)] = pair_of(key, place);
  });
  __syncthreads();
  if (!all_fit) {
    // Of equal keys the first `wanted`, in their order.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned taken = 0;
    const unsigned base = many;
    for (int start = 0; start < columns && taken < wanted; start += THREADS) {
      const int at = start + threadIdx.x;
      const bool equal = at < columns && key_of(row[at]) == prefix;
      const unsigned votes = __ballot_sync(0xffffffffu, equal);
      if (lane == 0) of_warps[warp] = __popc(votes);
      __syncthreads();
      unsigned before = taken, here = 0;
      for (int other = 0; other < THREADS / 32; ++other) {
        if (other < warp) before += of_warps[other];
        here += of_warps[other];
      }
      before += __popc(votes & ((1u << lane) - 1));
      if (equal && before < wanted) chosen[base + before] = pair_of(prefix, at);
      taken += here;
      __syncthreads();
    }
    if (threadIdx.x == 0) many = k;
    __syncthreads();
  }
  // Sorted from the greatest on (Batcher's bitonic sorter); what is not there is below all.
  for (int at = many + threadIdx.x; at < CAPACITY; at += THREADS) chosen[at] = 0;
  __syncthreads();
  for (int size = 2; size <= CAPACITY; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      for (int pair = threadIdx.x; pair < CAPACITY / 2; pair += THREADS) {
        const int low = 2 * pair - (pair & (stride - 1)), high = low + stride;
        const unsigned long long a = chosen[low], b = chosen[high];
        const bool falls = (low & size) == 0;
        if ((a < b) == falls) {
          chosen[low] = b;
          chosen[high] = a;
        }
      }
      __syncthreads();
    }
  }
  for (int at = threadIdx.x; at < k; at += THREADS) {
    const unsigned place = place_of(chosen[at]);
    values[static_cast<long long>(blockIdx.x) * k + at] = row[place];
    places[static_cast<long long>(blockIdx.x) * k + at] = place;
  }
}

#endif

// `chunks` blocks of 256 elements a row.
extern "C" __global__ void __launch_bounds__(256)
rank_rows(const T* x, T* values, long long* places, int columns, int k, int chunks) {
  __shared__ unsigned keys[256];
  const long long which = blockIdx.x / chunks;
  const T* row = x + which * columns;
  const int mine = blockIdx.x % chunks * 256 + threadIdx.x;
  const unsigned key = mine < columns ? key_of(row[mine]) : 0;
  int rank = 0;
  for (int start = 0; start < columns; start += 256) {
    const int many = min(256, columns - start);
    if (static_cast<int>(threadIdx.x) < many) keys[threadIdx.x] = key_of(row[start + threadIdx.x]);
    __syncthreads();
#pragma unroll 8
    for (int at = 0; at < many; ++at) rank += keys[at] > key || (keys[at] == key && start + at < mine);
    __syncthreads();
  }
  if (mine < columns && rank < k) {
    values[which * k + rank] = row[mine];
    places[which * k + rank] = mine;
  }
}
