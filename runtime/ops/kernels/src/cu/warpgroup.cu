// A product for each group of rows by the tensor cores' asynchronous instructions, which read both operands from shared memory:
// y[rows of g] = x[rows of g] W[g], by tiles of 128 x 256 of one group each. Two groups of four warps have 64 rows each.
//
// T        elements
// STORED   how W lies: 0 [G, K, N], 1 [G, N, K]
//
// Tiles lie in shared memory in rows of 128 bytes, eight of which are one pattern of 1 KiB: chunk c of row r, 16 bytes, is at
// place c ^ r % 8 of its row. Rows are those of x, and of W as it lies: 64 of its columns a time where its columns are behind
// one another.

constexpr int STAGES = 4, THREADS = 256, DEPTH = 64;
constexpr int X_BYTES = 128 * 128, W_BYTES = 256 * 128;

// d += a b, 64 x 256 x 16, of operands that descriptors name.
__device__ __forceinline__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b) {
#if IS_HALF
  asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, "
        "%88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, "
        "%104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, "
        "%120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, 1, 1, 1, 0, %130;"
      :
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "n"(STORED == 0));
#else
  asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, "
        "%88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, "
        "%104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, "
        "%120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, 1, 1, 1, 0, %130;"
      :
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "n"(STORED == 0));
#endif
}

// A descriptor of what begins at `address`: patterns are `leading` bytes apart along the rows of a transposed operand, and
// `stride` bytes along the other axis.
__device__ __forceinline__ unsigned long long described(uint address, uint leading, uint stride) {
  return (static_cast<unsigned long long>(address) & 0x3ffff) >> 4 | static_cast<unsigned long long>(leading >> 4) << 16 |
         static_cast<unsigned long long>(stride >> 4) << 32 | 1ull << 62;
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
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    __syncthreads();
    const uint own_x = shared + stage * (X_BYTES + W_BYTES) + half * 64 * 128, own_w = shared + stage * (X_BYTES + W_BYTES) + X_BYTES;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int part = 0; part < DEPTH / 16; ++part) {
      multiply(sums, described(own_x + 32 * part, 16, 1024),
               STORED == 1 ? described(own_w + 32 * part, 16, 1024) : described(own_w + 2048 * part, 64 * 128, 1024));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    load((step + STAGES - 2) % STAGES, at + (STAGES - 2) * DEPTH);
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
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
