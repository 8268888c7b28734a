// What a measurement needs beside the kernels that it measures. No header is needed.
//
// Every name begins with `tileops_bench_`, by which these kernels are told from those that are measured.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Reads what is several times as large as the L2 cache: what was in it is gone, and nothing that replaced it is dirty. A word
// is written where a sum has one value of 2^32, which keeps the compiler from leaving the loads out.
extern "C" __global__ void tileops_bench_flush(const uint4* words, u64 n, u32* sink) {
  constexpr int U = 8;
  u32 sum = 0;
  for (u64 base = (u64)blockIdx.x * blockDim.x * U + threadIdx.x; base < n; base += (u64)gridDim.x * blockDim.x * U) {
    uint4 v[U];
#pragma unroll
    for (int k = 0; k < U; k++) {
      const u64 i = base + (u64)k * blockDim.x;
      v[k] = i < n ? __ldg(words + i) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < U; k++) sum += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (sum == 0x9e3779b9u) *sink = sum;
}

// The counter-based generator of `tileops_reference::Distribution`, bit for bit.
__device__ u32 bits(u64 seed, u64 at) {
  u64 z = seed + (at + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (u32)((z ^ (z >> 31)) >> 32);
}

// A format of eight bits: rounded to nearest, ties to even. What is too large becomes an infinity (IEEE), a NaN with the sign
// (all bits set), or the NaN (the code of the negative zero).
enum Specials { IEEE, ALL_ONES, NEGATIVE_ZERO };

__device__ u8 small(double value, int exponent_bits, int mantissa_bits, int bias, Specials specials) {
  const u32 sign = __double2hiint(value) < 0 ? 0x80 : 0;
  const double magnitude = fabs(value);
  if (magnitude == 0.0) return specials == NEGATIVE_ZERO ? 0 : sign;
  const u32 overflow = specials == IEEE ? sign | (((1u << exponent_bits) - 1) << mantissa_bits)
                       : specials == ALL_ONES ? 0x7f | sign
                                              : 0x80;
  const int biased = (__double2hiint(magnitude) >> 20) & 0x7ff;
  int exponent = biased == 0 ? -1023 : biased - 1023;
  if (exponent < 1 - bias) exponent = 1 - bias;
  const i64 rounded = __double2ll_rn(ldexp(magnitude, mantissa_bits - exponent));
  const i64 code =
      exponent == 1 - bias ? rounded : rounded + ((i64)(exponent - 1 + bias) << mantissa_bits);
  const i64 largest = specials == IEEE ? (((1ll << exponent_bits) - 1) << mantissa_bits) - 1
                      : specials == ALL_ONES ? 0x7e
                                             : 0x7f;
  if (code > largest) return overflow;
  if (code == 0 && specials == NEGATIVE_ZERO) return 0;
  return sign | (u8)code;
}

__device__ u16 half_bits(float value) {
  u16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}

__device__ u16 bfloat_bits(float value) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.f), "f"(value));
  return (u16)pair;
}

template <typename T> __device__ T held(i64 value, i64 least, i64 most) {
  return (T)(value < least ? least : value > most ? most : value);
}

// Stores whole number `value` as element `at`. Dtypes are numbered as `DType::ALL` lists them.
__device__ bool store_whole(void* to, u64 at, int dtype, i64 value) {
  switch (dtype) {
    case 0: ((u8*)to)[at] = value != 0; return true;
    case 1: ((signed char*)to)[at] = held<signed char>(value, -128, 127); return true;
    case 2: ((u8*)to)[at] = held<u8>(value, 0, 255); return true;
    case 3: ((short*)to)[at] = held<short>(value, -32768, 32767); return true;
    case 4: ((u16*)to)[at] = held<u16>(value, 0, 65535); return true;
    case 5: ((int*)to)[at] = held<int>(value, -2147483648ll, 2147483647ll); return true;
    case 6: ((u32*)to)[at] = held<u32>(value, 0, 4294967295ll); return true;
    case 7: ((i64*)to)[at] = value; return true;
    case 8: ((u64*)to)[at] = value < 0 ? 0 : (u64)value; return true;
    default: return false;
  }
}

// In single precision, with a last bit that says that there was more: rounded again to fewer bits, the result is that of one
// rounding.
__device__ float to_odd(double value) {
  const float cut = __double2float_rz(value);
  return (double)cut == value ? cut : __uint_as_float(__float_as_uint(cut) | 1);
}

// Stores `value` as element `at`. A dtype of whole numbers takes it cut towards zero.
__device__ void store(void* to, u64 at, int dtype, double value) {
  switch (dtype) {
    case 9: ((u16*)to)[at] = half_bits(to_odd(value)); return;
    case 10: ((u16*)to)[at] = bfloat_bits(to_odd(value)); return;
    case 11: ((float*)to)[at] = __double2float_rn(value); return;
    case 12: ((double*)to)[at] = value; return;
    case 13: ((float2*)to)[at] = make_float2(__double2float_rn(value), 0.f); return;
    case 14: ((double2*)to)[at] = make_double2(value, 0.0); return;
    case 15: ((u8*)to)[at] = small(value, 4, 3, 7, ALL_ONES); return;
    case 16: ((u8*)to)[at] = small(value, 4, 3, 8, NEGATIVE_ZERO); return;
    case 17: ((u8*)to)[at] = small(value, 5, 2, 15, IEEE); return;
    case 18: ((u8*)to)[at] = small(value, 5, 2, 16, NEGATIVE_ZERO); return;
    case 19: {
      const double exponent = fmin(fmax(rint(log2(value)), -127.0), 127.0);
      ((u8*)to)[at] = value < 0.0 ? 0xff : (u8)(exponent + 127.0);
      return;
    }
    case 0: ((u8*)to)[at] = value != 0.0; return;
    default: store_whole(to, at, dtype, (i64)value);
  }
}

// Draws `n` elements. `kind` 0: real numbers of [low, high); 1: whole numbers from `least` on, `span` of them; 2: true once in
// `span`; 3: `low`.
extern "C" __global__ void tileops_bench_draw(void* to, u64 n, u64 seed, int dtype, int kind, float low, float high,
                                              i64 least, u64 span) {
  for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x) {
    const u32 drawn = bits(seed, at);
    if (kind == 0) {
      const float unit = __fmul_rn((float)(drawn >> 8), 1.f / 16777216.f);
      store(to, at, dtype, __fadd_rn(low, __fmul_rn(__fsub_rn(high, low), unit)));
    } else if (kind == 3) {
      store(to, at, dtype, low);
    } else {
      const i64 value = kind == 1 ? least + (i64)(((u64)drawn * span) >> 32) : (i64)(drawn % (u32)span == 0);
      if (!store_whole(to, at, dtype, value)) store(to, at, dtype, (double)value);
    }
  }
}

// Never ends, for a test of what happens then.
extern "C" __global__ void tileops_bench_hang(volatile u32* flag) {
  while (*flag != 0x9e3779b9u) {}
}

// Writes where no memory is, for a test of what happens then.
extern "C" __global__ void tileops_bench_crash(u32* nowhere) { *nowhere = 1; }
