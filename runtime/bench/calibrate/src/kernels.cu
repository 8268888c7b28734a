// What a device can do at most: access mixes of its memory, and fused multiply-adds.
//
// No header is needed. Arrays are read and written 16 bytes a thread; `n` counts 16-byte words.

typedef unsigned int u32;
typedef unsigned long long u64;

// A load that is not kept in L1, and fetches whole 256-byte lines into L2: nothing is read twice.
__device__ __forceinline__ uint4 load_once(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

// A store that does not displace what others keep.
__device__ __forceinline__ void store_once(uint4* p, uint4 v) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" :: "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

__device__ __forceinline__ u64 thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 threads() { return (u64)gridDim.x * blockDim.x; }

extern "C" __global__ void empty() {}

extern "C" __global__ void copy_plain(uint4* d, const uint4* s, u64 n) {
  u64 i = thread();
  if (i < n) d[i] = s[i];
}

extern "C" __global__ void copy_streamed(uint4* d, const uint4* s, u64 n) {
  u64 i = thread();
  if (i < n) store_once(d + i, load_once(s + i));
}

__device__ __forceinline__ u32 fma_bits(u32 b, u32 c, float k) {
  return __float_as_uint(fmaf(k, __uint_as_float(c), __uint_as_float(b)));
}

__device__ __forceinline__ uint4 triad(uint4 b, uint4 c, float k) {
  return make_uint4(fma_bits(b.x, c.x, k), fma_bits(b.y, c.y, k), fma_bits(b.z, c.z, k), fma_bits(b.w, c.w, k));
}

// a = b + k * c, in fp32.
extern "C" __global__ void triad_plain(uint4* a, const uint4* b, const uint4* c, u64 n, float k) {
  u64 i = thread();
  if (i < n) a[i] = triad(b[i], c[i], k);
}

extern "C" __global__ void triad_streamed(uint4* a, const uint4* b, const uint4* c, u64 n, float k) {
  u64 i = thread();
  if (i < n) store_once(a + i, triad(load_once(b + i), load_once(c + i), k));
}

// Reads all and keeps next to nothing: a word is written where a sum has one value of 2^32, which keeps the compiler from
// leaving the loads out, and costs no memory traffic.
template <int U> __device__ __forceinline__ void read_all(const uint4* s, u64 n, u32* sink) {
  u32 sum = 0;
  u64 stride = threads() * U;
  for (u64 base = (u64)blockIdx.x * blockDim.x * U + threadIdx.x; base < n; base += stride) {
    uint4 v[U];
    #pragma unroll
    for (int k = 0; k < U; k++) {
      u64 i = base + (u64)k * blockDim.x;
      v[k] = i < n ? load_once(s + i) : make_uint4(0, 0, 0, 0);
    }
    #pragma unroll
    for (int k = 0; k < U; k++) sum += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (sum == 0x9e3779b9u) *sink = sum;
}
extern "C" __global__ void read_4(const uint4* s, u64 n, u32* sink) { read_all<4>(s, n, sink); }
extern "C" __global__ void read_8(const uint4* s, u64 n, u32* sink) { read_all<8>(s, n, sink); }

extern "C" __global__ void write_plain(uint4* d, u64 n, u32 v) {
  u64 i = thread();
  if (i < n) d[i] = make_uint4(v, v ^ 1, v ^ 2, v ^ 3);
}

extern "C" __global__ void write_streamed(uint4* d, u64 n, u32 v) {
  u64 i = thread();
  if (i < n) store_once(d + i, make_uint4(v, v ^ 1, v ^ 2, v ^ 3));
}

// 64 fused multiply-adds a round and thread, in 16 chains that do not wait for each other.
extern "C" __global__ void __launch_bounds__(256) fma_fp32(float* sink, int rounds, float a, float b) {
  float x[16];
  #pragma unroll
  for (int i = 0; i < 16; i++) x[i] = threadIdx.x + i * 0.5f;
  for (int round = 0; round < rounds; round++) {
    #pragma unroll
    for (int r = 0; r < 4; r++) {
      #pragma unroll
      for (int i = 0; i < 16; i++) x[i] = fmaf(x[i], a, b);
    }
  }
  float sum = 0;
  #pragma unroll
  for (int i = 0; i < 16; i++) sum += x[i];
  if (sum == 123.456f) *sink = sum;
}

// Operands as products have them: normally distributed, for the power that a multiplier draws depends on its bits.
__device__ __forceinline__ u32 hash(u32 x) {
  x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
  return x;
}
__device__ __forceinline__ float unit(u32 h) { return ((h >> 8) + 0.5f) * (1.0f / 16777216.0f); }
__device__ __forceinline__ float normal(u64 i, u32 seed) {
  u32 a = hash((u32)i * 2u + seed), b = hash((u32)i * 2u + 1u + seed * 31u);
  return sqrtf(-2.f * logf(unit(a))) * cospif(2.f * unit(b));
}
extern "C" __global__ void fill_bf16(unsigned short* p, u64 n, u32 seed) {
  for (u64 i = thread(); i < n; i += threads()) {
    u32 u = __float_as_uint(normal(i, seed));
    p[i] = (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
}
extern "C" __global__ void fill_fp16(unsigned short* p, u64 n, u32 seed) {
  for (u64 i = thread(); i < n; i += threads()) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(normal(i, seed)));
    p[i] = h;
  }
}
extern "C" __global__ void fill_fp32(float* p, u64 n, u32 seed) {
  for (u64 i = thread(); i < n; i += threads()) p[i] = normal(i, seed);
}
// Two float8 e4m3 at a time; `n` counts the pairs.
extern "C" __global__ void fill_fp8(unsigned short* p, u64 n, u32 seed) {
  for (u64 i = thread(); i < n; i += threads()) {
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(normal(2 * i, seed)), "f"(normal(2 * i + 1, seed)));
    p[i] = pair;
  }
}
extern "C" __global__ void fill_int8(signed char* p, u64 n, u32 seed) {
  for (u64 i = thread(); i < n; i += threads()) {
    float v = normal(i, seed) * 32.f;
    p[i] = (signed char)fminf(fmaxf(v, -127.f), 127.f);
  }
}
