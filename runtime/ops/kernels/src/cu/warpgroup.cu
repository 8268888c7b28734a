// A product for each group of rows by the tensor cores' asynchronous instructions, which read both operands from shared memory:
// y[rows of g] = x[rows of g] W[g], by tiles of 128 x 256 of one group each. Two groups of four warps have 64 rows each.
//
// T        elements; KIND as instructions name them
// STORED   how W lies: 0 [G, K, N], 1 [G, N, K]
//
// Tiles lie in shared memory as wgmma.cuh says. Rows are those of x, and of W as it lies: 64 of its columns a time where its
// columns are behind one another.

constexpr int STAGES = 4, THREADS = 256, DEPTH = 64;
constexpr int X_BYTES = 128 * 128, W_BYTES = 256 * 128;

// d += a b, 64 x 256 x 16, of operands that descriptors name.
__device__ __forceinline__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." KIND "." KIND " {" NAMES_128 "}, %128, %129, 1, 1, 1, 0, %130;"
               : SUMS_128(d, 0)
               : "l"(a), "l"(b), "n"(STORED == 0));
}

// DOWN rows of 64 elements; zeros outside of `down` and `across`.
template <int DOWN>
__device__ __forceinline__ void load_tile(uint to, const T* from, long long stride, int down, int across) {
  const int first = threadIdx.x / 8, chunk = threadIdx.x % 8;
  const T* source = from + first * stride + chunk * 8;
#pragma unroll
  for (int at = 0; at < DOWN / 32; ++at) {
    const int row = first + 32 * at;
    const bool valid = row < down && chunk * 8 < across;
    copy_async(to + row * 128 + (chunk ^ row % 8) * 16, valid ? source + 32 * at * stride : from, valid);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
grouped(const T* x, const T* w, const int* metadata, const float*, const float*, T* y, int groups, int n, int k, int align) {
  extern __shared__ unsigned char unaligned[];
  const uint shared = (shared_address(unaligned) + 1023) / 1024 * 1024;
  const Tile tile = find(metadata, groups, align, n);
  if (tile.group < 0) return;
  const int rows = tile.rows, columns = n - tile.column0;
  x += static_cast<long long>(tile.row0) * k;
  w += static_cast<long long>(tile.group) * n * k + (STORED == 1 ? static_cast<long long>(tile.column0) * k : tile.column0);

  const auto load = [&](int stage, int at) {
    if (at < k) {
      const uint to = shared + stage * (X_BYTES + W_BYTES);
      load_tile<128>(to, x + at, k, rows, k - at);
#if STORED == 1
      load_tile<256>(to + X_BYTES, w + at, k, columns, k - at);
#else
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        load_tile<64>(to + X_BYTES + part * 64 * 128, w + static_cast<long long>(at) * n + 64 * part, n, k - at, columns - 64 * part);
      }
#endif
    }
    copy_commit();
  };
#pragma unroll
  for (int stage = 0; stage < STAGES - 2; ++stage) load(stage, stage * DEPTH);

  const int half = threadIdx.x / 128;
  float sums[128];
#pragma unroll
  for (int at = 0; at < 128; ++at) sums[at] = 0.f;
  int step = 0;
  for (int at = 0; at < k; at += DEPTH, ++step) {
    const int stage = step % STAGES;
    // The tile is there, for the tensor cores too, and the products before the last are done with theirs.
    copy_wait<STAGES - 3>();
    show_to_products();
    wait_for_products<1>();
    __syncthreads();
    const uint own_x = shared + stage * (X_BYTES + W_BYTES) + half * 64 * 128, own_w = shared + stage * (X_BYTES + W_BYTES) + X_BYTES;
    begin_products();
#pragma unroll
    for (int part = 0; part < DEPTH / 16; ++part) {
      multiply(sums, described(own_x + 32 * part, 16),
               STORED == 1 ? described(own_w + 32 * part, 16) : described(own_w + 2048 * part, 64 * 128));
    }
    commit_products();
    load((step + STAGES - 2) % STAGES, at + (STAGES - 2) * DEPTH);
  }
  wait_for_products<0>();
  copy_wait<0>();
  __syncthreads();

  // Through shared memory, so that whole rows are written.
  constexpr int PITCH = 256 + 8;
  T* const all = reinterpret_cast<T*>(unaligned);
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
  for (int at = 0; at < 32; ++at) {
    const int column = 8 * at + lane % 4 * 2;
    *reinterpret_cast<uint*>(all + own * PITCH + column) = pack<T>(sums[4 * at], sums[4 * at + 1]);
    *reinterpret_cast<uint*>(all + (own + 8) * PITCH + column) = pack<T>(sums[4 * at + 2], sums[4 * at + 3]);
  }
  __syncthreads();
  y += static_cast<long long>(tile.row0) * n + tile.column0;
  for (int at = threadIdx.x; at < 128 * 32; at += THREADS) {
    const int row = at / 32, column = at % 32 * 8;
    if (row >= rows || column >= columns) continue;
    *reinterpret_cast<uint4*>(y + static_cast<long long>(row) * n + column) = *reinterpret_cast<const uint4*>(all + row * PITCH + column);
  }
}
