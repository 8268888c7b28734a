// A product for each group of rows: y[rows of g] = x[rows of g] W[g], by tiles of ROWS x COLUMNS of one group each.
//
// U          elements as they lie in memory: T, or two of fp8
// TD         the elements of y
// FP8        whether operands are e4m3, two in each U
// STORED     how W lies: 0 [G, K, N], 1 [G, N, K]
// SUMMED     whether the contraction is over a group's rows, and y[g] = x[rows of g]^T w[rows of g]
// ROWS       64 or 128; COLUMNS is 128
// ALIGNED    whether rows are whole vectors

constexpr int STAGES = 3, THREADS = 256;
// U a step of the pipeline: of the depth.
constexpr int DEPTH = 64;
constexpr int X_TILE = SUMMED ? DEPTH * (ROWS + 8) : ROWS * (DEPTH + 8);
constexpr int W_TILE = STORED == 1 ? COLUMNS * (DEPTH + 8) : DEPTH * (COLUMNS + 8);
constexpr int X_PITCH = SUMMED ? ROWS + 8 : DEPTH + 8, W_PITCH = STORED == 1 ? DEPTH + 8 : COLUMNS + 8;
// Eight warps of ROWS / 2 x 32.
constexpr int BLOCKS = ROWS / 32, TILES = 4;

__device__ __forceinline__ void multiply(float (&d)[4], const uint (&a)[4], uint b0, uint b1) {
#if FP8
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  mma<U>(d, a, b0, b1);
#endif
}

// DOWN rows of ACROSS elements to shared memory; zeros outside of `down` and `across`.
template <int DOWN, int ACROSS, int PITCH>
__device__ __forceinline__ void load_tile(U* to, const U* from, long long stride, int down, int across) {
  constexpr int CHUNKS = ACROSS / 8, STEP = THREADS / CHUNKS;
  const int first = threadIdx.x / CHUNKS, column = threadIdx.x % CHUNKS * 8;
  const U* source = from + first * stride + column;
  // Not unrolled: addresses that are computed ahead would take the registers that the sums are in.
#pragma unroll 1
  for (int row = first; row < DOWN; row += STEP, source += STEP * stride) {
    U* target = to + row * PITCH + column;
#if ALIGNED
    const bool valid = row < down && column < across;
    copy_async(shared_address(target), valid ? source : from, valid);
#else
    for (int of = 0; of < 8; ++of) target[of] = row < down && column + of < across ? source[of] : static_cast<U>(0.f);
#endif
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
grouped(const U* x, const U* w, const int* metadata, const float* x_scale, const float* w_scale, TD* y, int groups, int n, int k,
        int align) {
  extern __shared__ __align__(16) unsigned char shared[];
  U* const all_x = reinterpret_cast<U*>(shared);
  U* const all_w = all_x + STAGES * X_TILE;
  const Tile tile = find(metadata, groups, align, n);
  if (tile.group < 0) return;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, down = warp / 4 * (ROWS / 2), across = warp % 4 * 32;

#if SUMMED
  // x is [rows, k] and w [rows, n]: k is what y has rows of.
  const int start = metadata[tile.group], depth = metadata[tile.group + 1] - start;
  x += static_cast<long long>(start) * k + tile.row0, w += static_cast<long long>(start) * n + tile.column0;
  const int rows = k - tile.row0;
#else
  const int depth = k, rows = tile.rows;
  x += static_cast<long long>(tile.row0) * k;
  w += static_cast<long long>(tile.group) * n * k + (STORED == 1 ? static_cast<long long>(tile.column0) * k : tile.column0);
#endif
  const int columns = n - tile.column0;

  const auto load = [&](int stage, int at) {
    if (at < depth) {
#if SUMMED
      load_tile<DEPTH, ROWS, X_PITCH>(all_x + stage * X_TILE, x + static_cast<long long>(at) * k, k, depth - at, rows);
      load_tile<DEPTH, COLUMNS, W_PITCH>(all_w + stage * W_TILE, w + static_cast<long long>(at) * n, n, depth - at, columns);
#else
      load_tile<ROWS, DEPTH, X_PITCH>(all_x + stage * X_TILE, x + at, k, rows, depth - at);
#if STORED == 1
      load_tile<COLUMNS, DEPTH, W_PITCH>(all_w + stage * W_TILE, w + at, k, columns, depth - at);
#else
      load_tile<DEPTH, COLUMNS, W_PITCH>(all_w + stage * W_TILE, w + static_cast<long long>(at) * n, n, depth - at, columns);
#endif
#endif
    }
    copy_commit();
  };
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) load(stage, stage * DEPTH);

  float sums[BLOCKS][TILES][4] = {};
  int stage = 0;
  for (int at = 0; at < depth; at += DEPTH) {
    copy_wait<STAGES - 2>();
    __syncthreads();
    load((stage + STAGES - 1) % STAGES, at + (STAGES - 1) * DEPTH);
    const U* const own_x = all_x + stage * X_TILE;
    const U* const own_w = all_w + stage * W_TILE;
    stage = (stage + 1) % STAGES;
#pragma unroll 2
    for (int step = 0; step < DEPTH; step += 16) {
      uint a[BLOCKS][4];
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block) {
        const int row = down + 16 * block;
#if SUMMED
        load_transposed(a[block], shared_address(own_x + (step + lane % 8 + lane / 16 * 8) * X_PITCH + row + lane / 8 % 2 * 8));
#else
        load_matrices(a[block], shared_address(own_x + (row + lane % 16) * X_PITCH + step + lane / 16 * 8));
#endif
      }
#pragma unroll
      for (int pair = 0; pair < TILES / 2; ++pair) {
        const int column = across + 16 * pair;
        uint b[4];
#if STORED == 1
        load_matrices(b, shared_address(own_w + (column + lane % 8 + lane / 16 * 8) * W_PITCH + step + lane / 8 % 2 * 8));
#else
        load_transposed(b, shared_address(own_w + (step + lane % 16) * W_PITCH + column + lane / 16 * 8));
#endif
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
          multiply(sums[block][2 * pair], a[block], b[0], b[1]);
          multiply(sums[block][2 * pair + 1], a[block], b[2], b[3]);
        }
      }
    }
  }
  copy_wait<0>();

#if FP8
  // The columns' scales, in the memory that the tiles had.
  float* const scales = reinterpret_cast<float*>(shared);
  __syncthreads();
  if (threadIdx.x < COLUMNS && static_cast<int>(threadIdx.x) < columns) {
    scales[threadIdx.x] = w_scale[static_cast<long long>(tile.group) * n + tile.column0 + threadIdx.x];
  }
  __syncthreads();
#endif
#if SUMMED
  y += static_cast<long long>(tile.group) * k * n;
#endif
#pragma unroll
  for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = down + 16 * block + 8 * half + lane / 4;
      if (row >= rows) continue;
      TD* const to = y + static_cast<long long>(tile.row0 + row) * n + tile.column0;
#if FP8
      const float of_row = x_scale[tile.row0 + row];
#endif
#pragma unroll
      for (int part = 0; part < TILES; ++part) {
        const int column = across + 8 * part + lane % 4 * 2;
        float first = sums[block][part][2 * half], second = sums[block][part][2 * half + 1];
#if FP8
        if (column < columns) first *= of_row * scales[column];
        if (column + 1 < columns) second *= of_row * scales[column + 1];
#endif
        if (column + 1 < columns && n % 2 == 0) {
          *reinterpret_cast<uint*>(to + column) = pack<TD>(first, second);
        } else {
          if (column < columns) to[column] = from_float<TD>(first);
          if (column + 1 < columns) to[column + 1] = from_float<TD>(second);
        }
      }
    }
  }
}
