// What every kernel may use.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

// Elements are computed in single precision, and rounded to nearest when they are stored.
template <typename T> __device__ __forceinline__ float to_float(T x) { return static_cast<float>(x); }
template <> __device__ __forceinline__ float to_float<__half>(__half x) { return __half2float(x); }
template <> __device__ __forceinline__ float to_float<__nv_bfloat16>(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T> __device__ __forceinline__ T from_float(float x) { return static_cast<T>(x); }
template <> __device__ __forceinline__ __half from_float<__half>(float x) { return __float2half_rn(x); }
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) { return __float2bfloat16_rn(x); }

constexpr float LOG2E = 1.4426950408889634f;
constexpr float LN2 = 0.6931471805599453f;

// 2^x, to two units in the last place; what is not normal is zero.
__device__ __forceinline__ float two_to(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The logarithm of a number that is normal or zero, to the base of two.
__device__ __forceinline__ float log2_of(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 1 / x, to one unit in the last place; of what is above 2^126, zero.
__device__ __forceinline__ float reciprocal_of(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// As IEEE 754-2019's maximum: what is not a number comes through.
__device__ __forceinline__ float maximum(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
__device__ __forceinline__ float minimum(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

// N elements, loaded and stored by one instruction where they make up 16 bytes or less.
template <typename T, int N> struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Vector { T at[N]; };

template <bool FIRST, typename A, typename B> struct Choose { using Type = A; };
template <typename A, typename B> struct Choose<false, A, B> { using Type = B; };

__device__ __forceinline__ void store_words(void* to, uint4 x) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
__device__ __forceinline__ void store_words(void* to, uint2 x) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(x.x), "r"(x.y) : "memory");
}

// By instructions of 16 bytes, or by one of 8: the compiler takes some assignments apart into stores of their elements.
template <typename T, int N> __device__ __forceinline__ void store_vector(T* to, const Vector<T, N>& vector) {
  if constexpr (sizeof(vector) % 8 == 0) {
    using Words = typename Choose<sizeof(vector) % 16 == 0, uint4, uint2>::Type;
#pragma unroll
    for (int at = 0; at < static_cast<int>(sizeof(vector) / sizeof(Words)); ++at) {
      Words words;
      memcpy(&words, reinterpret_cast<const char*>(&vector) + at * sizeof(Words), sizeof(Words));
      store_words(reinterpret_cast<Words*>(to) + at, words);
    }
  } else {
    *reinterpret_cast<Vector<T, N>*>(to) = vector;
  }
}

// Vectors that are under way are kept as words: as elements they would take up a register each.
template <int BYTES> struct alignas(BYTES > 16 ? 16 : BYTES) Words { unsigned at[BYTES / 4]; };
template <> struct Words<1> { unsigned char at[1]; };
template <> struct Words<2> { unsigned short at[1]; };

template <typename T> constexpr bool IS_UPPER_HALF = false;
template <> constexpr bool IS_UPPER_HALF<__nv_bfloat16> = true;

// All elements in single precision, by one instruction each: a bfloat16 is the upper half of its float, and the compiler would
// shift that of a word twice.
template <typename T, int N> __device__ __forceinline__ void to_floats(const Words<N * sizeof(T)>& words, float (&out)[N]) {
#pragma unroll
  for (int at = 0; at < N; ++at) {
    if constexpr (IS_UPPER_HALF<T> && N % 2 == 0)
      out[at] = __uint_as_float(at % 2 == 0 ? words.at[at / 2] << 16 : words.at[at / 2] & 0xffff0000u);
    else
      out[at] = to_float(reinterpret_cast<const Vector<T, N>&>(words).at[at]);
  }
}
template <typename T, int N> __device__ __forceinline__ Vector<float, N> to_floats(const Vector<T, N>& vector) {
  Vector<float, N> floats;
  to_floats<T>(reinterpret_cast<const Words<sizeof(vector)>&>(vector), floats.at);
  return floats;
}

// An mbarrier in shared memory, at an address there. Its phase is over when so many have arrived; what they wrote before is
// seen by all who waited for it (PTX ISA, "mbarrier").
__device__ __forceinline__ void start_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// The first phase has parity 0, the next one 1.
__device__ __forceinline__ void wait_for_phase(unsigned barrier, int parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n\tagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra again;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Division of 32-bit numbers below 2^31 by a number that is known before the launch (Granlund, Montgomery, 1994).
struct Divisor {
  unsigned by, factor, shift;
  __device__ __forceinline__ unsigned of(unsigned x) const { return (__umulhi(x, factor) + x) >> shift; }
};
