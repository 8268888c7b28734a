// y = x W^T for few rows of x, at the speed at which W is read: each weight is read once, straight into the registers that
// the tensor cores take it from.
//
// T         the elements of x and y
// FORMAT    of W, [N, K]: 0 T; 1 int8 with a scale a row; 2 four bits, two a byte, with a scale and a zero for each group of
//           a row; 3 mxfp4, two a byte, with a power of two for 32
// DEPTH     how many weights of a row a lane takes at once: 16 bytes, or what has one scale among four lanes
// TILES     how many tiles of 16 rows of W a block takes
// COLUMNS   how many tiles of 8 rows of x
// AT_ONCE   how many such steps a warp has under way
// GATED     whether there are two W, and y = ACTIVATION(g) * u
//
// The order of the depth does not matter to a sum, so a lane's elements are those that lie behind one another in memory: a
// step of the tensor cores takes four of each lane, where it names them 2 (L%4), 2 (L%4) + 1 and the same 8 further.

constexpr int WARPS = 8;
constexpr int STEP = 4 * DEPTH;
constexpr int WEIGHT_BITS = FORMAT == 0 ? 16 : FORMAT == 1 ? 8 : 4;
constexpr int WORDS = DEPTH * WEIGHT_BITS / 32;
constexpr int ROWS = GATED ? 16 : 16 * TILES;
static_assert(!GATED || TILES == 2, "one tile of each W");

#if FORMAT == 3
using Scale = unsigned char;
#else
using Scale = T;
#endif

template <int N> __device__ __forceinline__ void load_words(uint (&to)[N], const void* from) {
  if constexpr (N % 4 == 0) {
#pragma unroll
    for (int at = 0; at < N; at += 4) {
      const uint4 four = __ldg(reinterpret_cast<const uint4*>(from) + at / 4);
      to[at] = four.x, to[at + 1] = four.y, to[at + 2] = four.z, to[at + 3] = four.w;
    }
  } else if constexpr (N == 2) {
    const uint2 two = __ldg(reinterpret_cast<const uint2*>(from));
    to[0] = two.x, to[1] = two.y;
  } else {
    to[0] = __ldg(reinterpret_cast<const uint*>(from));
  }
}

// Eight numbers of four bits as four pairs: those of places (0, 4), (1, 5), (2, 6), (3, 7).
__device__ __forceinline__ void nibbles(uint (&pairs)[4], uint word) {
#pragma unroll
  for (int at = 0; at < 4; ++at) {
    const uint two = word >> (4 * at);
#if FORMAT == 3
    // Sign, two bits of exponent, one of mantissa, put where T has them; the exponents' biases differ by a factor.
    if constexpr (IS_BF16<T>) {
      const uint bits = (two & 0x00080008u) << 12 | (two & 0x00070007u) << 6;
      asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(pairs[at]) : "r"(bits), "r"(0x7e807e80u));
    } else {
      const uint bits = (two & 0x00080008u) << 12 | (two & 0x00070007u) << 9;
      asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(pairs[at]) : "r"(bits), "r"(0x74007400u));
    }
#else
    // 128 or 1024 has a last place of one: the number is its low bits.
    if constexpr (IS_BF16<T>) {
      const uint bits = (two & 0x000f000fu) | 0x43004300u;
      asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(pairs[at]) : "r"(bits), "r"(0x43004300u));
    } else {
      const uint bits = (two & 0x000f000fu) | 0x64006400u;
      asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(pairs[at]) : "r"(bits), "r"(0x64006400u));
    }
#endif
  }
}

// A lane's weights as pairs of T, exactly.
__device__ __forceinline__ void restore(uint (&pairs)[DEPTH / 2], const uint (&words)[WORDS]) {
#pragma unroll
  for (int at = 0; at < WORDS; ++at) {
    if constexpr (FORMAT == 0) {
      pairs[at] = words[at];
    } else if constexpr (FORMAT == 1) {
      // 2^23 + 128 + w, by its bits.
      const uint biased = words[at] ^ 0x80808080u;
      float w[4];
#pragma unroll
      for (int of = 0; of < 4; ++of) w[of] = __uint_as_float(__byte_perm(biased, 0x4b000000u, 0x7540 | of)) - 8388736.f;
      pairs[2 * at] = pack<T>(w[0], w[1]);
      pairs[2 * at + 1] = pack<T>(w[2], w[3]);
    } else {
      uint four[4];
      nibbles(four, words[at]);
#pragma unroll
      for (int of = 0; of < 4; ++of) pairs[4 * at + of] = four[of];
    }
  }
}

// x in the order in which `restore` has the weights.
__device__ __forceinline__ void arrange(uint (&pairs)[DEPTH / 2]) {
  if constexpr (FORMAT >= 2) {
#pragma unroll
    for (int at = 0; at < DEPTH / 2; at += 4) {
      const uint a = pairs[at], b = pairs[at + 1], c = pairs[at + 2], d = pairs[at + 3];
      pairs[at] = __byte_perm(a, c, 0x5410);
      pairs[at + 1] = __byte_perm(a, c, 0x7632);
      pairs[at + 2] = __byte_perm(b, d, 0x5410);
      pairs[at + 3] = __byte_perm(b, d, 0x7632);
    }
  }
}

__device__ __forceinline__ float power_of_two(unsigned char exponent) {
  if (exponent == 0) return __uint_as_float(0x00400000u);
  return exponent == 255 ? __uint_as_float(0x7fc00000u) : __uint_as_float(static_cast<uint>(exponent) << 23);
}

#if GATED
__device__ __forceinline__ float activate(float x) { return ACTIVATION; }
#endif

extern "C" __global__ void __launch_bounds__(32 * WARPS)
stream(const T* x, const unsigned char* w, const unsigned char* up, const Scale* scale, const T* zero, const T* bias, T* y,
       int m, int n, int k, int group) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane / 4, member = lane % 4;
  const int row0 = blockIdx.x * ROWS, column0 = blockIdx.y * 8 * COLUMNS;
  const long long row_bytes = static_cast<long long>(k) * WEIGHT_BITS / 8;
  const int steps = (k + STEP - 1) / STEP;

  // The two rows of W that the lane reads of each tile; nothing beyond the last.
  const unsigned char* rows[TILES][2];
  [[maybe_unused]] int numbers[TILES][2];
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = row0 + (GATED ? 0 : 16 * tile) + 8 * half + quad;
      const unsigned char* base = GATED && tile == 1 ? up : w;
      rows[tile][half] = row < n ? base + row * row_bytes + member * DEPTH * WEIGHT_BITS / 8 : nullptr;
      numbers[tile][half] = min(row, n - 1);
    }
  }

  float sums[TILES][COLUMNS][4] = {};
  for (int first = warp * AT_ONCE; first < steps; first += WARPS * AT_ONCE) {
    uint words[AT_ONCE][TILES][2][WORDS];
#if FORMAT >= 2
    Scale scales[AT_ONCE][TILES][2];
#endif
#if FORMAT == 2
    T zeros[AT_ONCE][TILES][2];
#endif
#pragma unroll
    for (int step = 0; step < AT_ONCE; ++step) {
      const bool within = (first + step) * STEP + member * DEPTH < k;
#pragma unroll
      for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if (within && rows[tile][half] != nullptr) {
            load_words(words[step][tile][half],
                       rows[tile][half] + static_cast<long long>(first + step) * STEP * WEIGHT_BITS / 8);
          } else {
#pragma unroll
            for (int at = 0; at < WORDS; ++at) words[step][tile][half][at] = 0;
          }
#if FORMAT >= 2
          // Beyond the end there are zeros to be scaled, by whatever there is.
          const long long of = static_cast<long long>(numbers[tile][half]) * (k / group) + min(first + step, steps - 1) * STEP / group;
          scales[step][tile][half] = scale[of];
#if FORMAT == 2
          zeros[step][tile][half] = zero[of];
#endif
#endif
        }
      }
    }
#pragma unroll
    for (int step = 0; step < AT_ONCE; ++step) {
      if (first + step >= steps) break;
      const int depth = (first + step) * STEP + member * DEPTH;
      uint xs[COLUMNS][DEPTH / 2];
#pragma unroll
      for (int column = 0; column < COLUMNS; ++column) {
        const int row = column0 + 8 * column + quad;
        if (row < m && depth < k) {
          load_words(xs[column], x + static_cast<long long>(row) * k + depth);
          arrange(xs[column]);
        } else {
#pragma unroll
          for (int at = 0; at < DEPTH / 2; ++at) xs[column][at] = 0;
        }
      }
#if FORMAT == 2
      // The sum of x, for the zeros: a product with ones.
      float totals[COLUMNS][4] = {};
      const uint one = pack<T>(1.f, 1.f);
      const uint ones[4] = {one, one, one, one};
#pragma unroll
      for (int column = 0; column < COLUMNS; ++column) {
#pragma unroll
        for (int at = 0; at < DEPTH / 4; ++at) mma<T>(totals[column], ones, xs[column][2 * at], xs[column][2 * at + 1]);
      }
#endif
#pragma unroll
      for (int tile = 0; tile < TILES; ++tile) {
        uint pairs[2][DEPTH / 2];
        restore(pairs[0], words[step][tile][0]);
        restore(pairs[1], words[step][tile][1]);
#if FORMAT >= 2
        float parts[COLUMNS][4] = {};
#else
        float(&parts)[COLUMNS][4] = sums[tile];
#endif
#pragma unroll
        for (int at = 0; at < DEPTH / 4; ++at) {
          const uint a[4] = {pairs[0][2 * at], pairs[1][2 * at], pairs[0][2 * at + 1], pairs[1][2 * at + 1]};
#pragma unroll
          for (int column = 0; column < COLUMNS; ++column) mma<T>(parts[column], a, xs[column][2 * at], xs[column][2 * at + 1]);
        }
#if FORMAT >= 2
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#if FORMAT == 2
          const float factor = to_float(scales[step][tile][half]), from = to_float(zeros[step][tile][half]);
#else
          const float factor = power_of_two(scales[step][tile][half]);
#endif
#pragma unroll
          for (int column = 0; column < COLUMNS; ++column) {
#pragma unroll
            for (int at = 0; at < 2; ++at) {
#if FORMAT == 2
              sums[tile][column][2 * half + at] += factor * (parts[column][2 * half + at] - from * totals[column][at]);
#else
              sums[tile][column][2 * half + at] += factor * parts[column][2 * half + at];
#endif
            }
          }
        }
#endif
      }
    }
  }

  // Each warp has the sums of a part of the depth.
  __shared__ float all[WARPS][TILES][8 * COLUMNS][17];
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
    for (int column = 0; column < COLUMNS; ++column) {
#pragma unroll
      for (int at = 0; at < 4; ++at) {
        all[warp][tile][8 * column + 2 * member + at % 2][quad + 8 * (at / 2)] = sums[tile][column][at];
      }
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at < ROWS * 8 * COLUMNS; at += 32 * WARPS) {
    const int of = at % ROWS, column = at / ROWS, row = row0 + of, x_row = column0 + column;
    if (row >= n || x_row >= m) continue;
    float sum = 0.f;
#if GATED
    float second = 0.f;
#pragma unroll
    for (int part = 0; part < WARPS; ++part) sum += all[part][0][column][of], second += all[part][1][column][of];
    sum = activate(sum) * second;
#else
#pragma unroll
    for (int part = 0; part < WARPS; ++part) sum += all[part][of / 16][column][of % 16];
#endif
#if FORMAT == 1
    sum *= to_float(scale[row]);
#endif
    if (bias != nullptr) sum += to_float(bias[row]);
    y[static_cast<long long>(x_row) * n + row] = from_float<T>(sum);
  }
}
