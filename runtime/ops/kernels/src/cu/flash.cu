// Attention of many queries by the tensor cores' asynchronous instructions: two groups of four warps have 64 rows each, and take
// the keys 128 at a time. While a tile's scores become weights, the products of the next one are under way.
//
// HEAD     the width of a key and of a value: 64 or 128
// PACKED   whether requests lie behind one another, as `offsets` says
// LSE      whether the logarithms of the sums are wanted
// KIND     the elements, as instructions name them
//
// Tiles lie in shared memory as wgmma.cuh says, 64 columns a time.

constexpr int THREADS = 256, ROWS = 128, KEYS = 128, PARTS = HEAD / 64, CHUNKS = HEAD / 8;
constexpr int PART_BYTES = KEYS * 128, TILE_BYTES = PARTS * PART_BYTES;

// d = a b or d += a b, 64 x 128 x 16, of operands that descriptors name.
template <int IS_ADDED> __device__ __forceinline__ void score_tile(float (&d)[64], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." KIND "." KIND " {" NAMES_64 "}, %64, %65, %66, 1, 1, 0, 0;"
               : SUMS_64(d, 0)
               : "l"(a), "l"(b), "n"(IS_ADDED));
}

// d += a b, 64 x HEAD x 16, of a left operand in registers and a right one whose columns lie behind one another.
__device__ __forceinline__ void weigh_tile(float (&d)[HEAD / 2], const uint (&a)[4], unsigned long long b) {
#if HEAD == 128
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." KIND "." KIND " {" NAMES_64 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
               : SUMS_64(d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#else
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." KIND "." KIND " {" NAMES_32 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
               : SUMS_32(d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#endif
}

__device__ __forceinline__ uint place(uint tile, int row, int chunk) {
  return tile + chunk / 8 * PART_BYTES + row * 128 + (chunk % 8 ^ row % 8) * 16;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
flash(const T* q, const T* k, const T* v, const T* sinks, const int* offsets, const int*, const int*, T* o, float* lse, int batch,
      int queries, int length, int groups, int, float scale, float cap) {
  extern __shared__ unsigned char unaligned[];
  const uint all_q = (shared_address(unaligned) + 1023) / 1024 * 1024, all_k = all_q + TILE_BYTES, all_v = all_k + 2 * TILE_BYTES;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane / 4, member = lane % 4;
  const int group = blockIdx.y, heads = groups * SHARE;

  int request = blockIdx.z, tile = CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  long long first = static_cast<long long>(request) * queries, first_key = static_cast<long long>(request) * length;
  int total = length;
#if PACKED
  // The block's tile, counted over all requests.
  for (request = 0; request < batch; ++request) {
    first = first_key = offsets[request];
    total = queries = static_cast<int>(offsets[request + 1] - first);
    const int tiles = (queries * SHARE + ROWS - 1) / ROWS;
    if (tile < tiles) break;
    tile -= tiles;
  }
  if (request == batch) return;
#endif
  const int row0 = tile * ROWS, rows = queries * SHARE, behind = total - queries;
  if (row0 >= rows) return;

  // The keys that any row of the block sees.
  const int last_row = min(row0 + ROWS, rows) - 1;
  const int end = CAUSAL ? min(total, last_row / SHARE + behind + 1) : total;
  int begin = 0;
  if (WINDOW > 0) begin = max(0, row0 / SHARE + behind - WINDOW + 1) / KEYS * KEYS;
  const int tiles = (end - begin + KEYS - 1) / KEYS;

  const int own_row = threadIdx.x / CHUNKS, own_chunk = threadIdx.x % CHUNKS;
  const auto load = [&](uint to, const T* from, int start) {
    const long long stride = static_cast<long long>(groups) * HEAD;
    const T* source = from + (first_key + start + own_row) * stride + group * HEAD + own_chunk * 8;
#pragma unroll
    for (int at = 0; at < KEYS * CHUNKS / THREADS; ++at) {
      const int row = own_row + at * (THREADS / CHUNKS);
      const bool valid = start + row < end;
      copy_async(place(to, row, own_chunk), valid ? source + at * (THREADS / CHUNKS) * stride : from, valid);
    }
  };
#pragma unroll
  for (int at = 0; at < ROWS * CHUNKS / THREADS; ++at) {
    const int row = own_row + at * (THREADS / CHUNKS), number = row0 + row;
    const bool valid = number < rows;
    const T* source = q + ((first + number / SHARE) * heads + group * SHARE + number % SHARE) * HEAD + own_chunk * 8;
    copy_async(place(all_q, row, own_chunk), valid ? source : q, valid);
  }
  if (tiles > 0) load(all_k, k, begin);
  copy_commit();
  if (tiles > 0) load(all_v, v, begin);
  if (tiles > 1) load(all_k + TILE_BYTES, k, begin + KEYS);
  copy_commit();

  float out[HEAD / 2];
#pragma unroll
  for (int at = 0; at < HEAD / 2; ++at) out[at] = 0.f;
  float highest[2], sums[2];
  int seen[2];
  const int own = row0 + warp * 16 + quad;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = min(own + 8 * half, rows - 1);
    seen[half] = row / SHARE + behind;
    highest[half] = -INFINITY, sums[half] = 0.f;
#if SINKS
    highest[half] = to_float(sinks[group * SHARE + row % SHARE]) * LOG2E;
    sums[half] = member == 0 ? 1.f : 0.f;
#endif
  }
  const int first_seen = row0 / SHARE + behind, last_seen = last_row / SHARE + behind;
  const uint own_q = all_q + warp / 4 * 64 * 128;

  const auto scores = [&](float (&s)[64], int stage) {
    const uint own_k = all_k + stage * TILE_BYTES;
#pragma unroll
    for (int step = 0; step < HEAD / 16; ++step) {
      const uint at = step / 4 * PART_BYTES + step % 4 * 32;
      if (step == 0) score_tile<0>(s, described(own_q + at, 16), described(own_k + at, 16));
      else score_tile<1>(s, described(own_q + at, 16), described(own_k + at, 16));
    }
    commit_products();
  };

  // A tile's scores become weights; what was summed before is to be multiplied by `factors`.
  float s[64], factors[2];
  const auto weigh = [&](int start) {
    const bool is_edge = start + KEYS > total || (CAUSAL && start + KEYS > first_seen + 1) ||
                         (WINDOW > 0 && start <= last_seen - WINDOW);
    const float by = SOFTCAP ? 1.f : scale * LOG2E;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = -INFINITY;
#pragma unroll
      for (int at = 0; at < 32; ++at) {
        float& x = s[at / 2 * 4 + 2 * half + at % 2];
#if SOFTCAP
        x = score(x, scale, cap);
#endif
        if (is_edge) {
          const int key = start + at / 2 * 8 + 2 * member + at % 2;
          const bool is_seen =
              key < total && (!CAUSAL || key <= seen[half]) && (WINDOW == 0 || key > seen[half] - WINDOW);
          if (!is_seen) x = -INFINITY;
        }
        most = fmaxf(most, x);
      }
      // Scales are positive, so that the highest stays the highest.
      most = fmaxf(highest[half], most_of_four(most) * by);
      // A row that has seen nothing yet has nothing to rescale.
      const float from = most == -INFINITY ? 0.f : most;
      factors[half] = two_to(highest[half] - from);
      highest[half] = most;
      float sum = 0.f;
#pragma unroll
      for (int at = 0; at < 32; ++at) {
        float& x = s[at / 2 * 4 + 2 * half + at % 2];
        x = two_to(fmaf(x, by, -from));
        sum += x;
      }
      sums[half] = sums[half] * factors[half] + sum;
    }
  };
  uint weights[8][4];
  const auto store = [&] {
#pragma unroll
    for (int at = 0; at < 8; ++at) {
      weights[at][0] = pack<T>(s[8 * at], s[8 * at + 1]), weights[at][1] = pack<T>(s[8 * at + 2], s[8 * at + 3]);
      weights[at][2] = pack<T>(s[8 * at + 4], s[8 * at + 5]), weights[at][3] = pack<T>(s[8 * at + 6], s[8 * at + 7]);
    }
  };
  const auto add = [&](int stage) {
#pragma unroll
    for (int at = 0; at < 8; ++at) weigh_tile(out, weights[at], described(all_v + stage * TILE_BYTES + at * 2048, PART_BYTES));
    commit_products();
  };
  const auto arrive = [&] {
    copy_wait<0>();
    show_to_products();
    __syncthreads();
  };

  copy_wait<1>();
  show_to_products();
  __syncthreads();
  if (tiles > 0) {
    begin_products();
    scores(s, 0);
    wait_for_products<0>();
    weigh(begin);
    store();
    for (int number = 0; number + 1 < tiles; ++number) {
      const int start = begin + number * KEYS, stage = number % 2;
      arrive();
      if (number + 2 < tiles) load(all_k + stage * TILE_BYTES, k, start + 2 * KEYS);
      load(all_v + (stage ^ 1) * TILE_BYTES, v, start + KEYS);
      copy_commit();
      // The next tile's scores first, then this one's values, which are added while the scores become weights.
      begin_products();
      scores(s, stage ^ 1);
      add(stage);
      wait_for_products<1>();
      weigh(start + KEYS);
      wait_for_products<0>();
#pragma unroll
      for (int at = 0; at < HEAD / 2; ++at) out[at] *= factors[at / 2 % 2];
      store();
    }
    arrive();
    begin_products();
    add((tiles - 1) % 2);
    wait_for_products<0>();
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = own + 8 * half;
    const float sum = sum_of_four(sums[half]);
    if (row >= rows) continue;
    const float factor = sum > 0.f ? 1.f / sum : 0.f;
    const long long query = first + row / SHARE;
    const int head = group * SHARE + row % SHARE;
    T* to = o + (query * heads + head) * HEAD + 2 * member;
#pragma unroll
    for (int at = 0; at < HEAD / 8; ++at) {
      *reinterpret_cast<uint*>(to + 8 * at) = pack<T>(out[4 * at + 2 * half] * factor, out[4 * at + 2 * half + 1] * factor);
    }
#if LSE
    // The queries' number is that of the whole batch here.
    if (member == 0) lse[static_cast<long long>(head) * offsets[batch] + query] = (highest[half] + log2f(sum)) / LOG2E;
#endif
  }
}
