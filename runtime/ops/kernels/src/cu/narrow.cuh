// To narrow dtypes: quotients by a scale, and the nearest number, ties to even, of those that are finite.

// Quotients by one divisor, each rounded as a division is, by a product and its correction (Markstein, 1990). A divisor whose
// reciprocal, or the remainders by it, may leave the normal range is divided by. Zero gives zero, and what is not a number
// gives none.
struct Quotient {
  float divisor, reciprocal;
  bool is_plain;

  __device__ __forceinline__ explicit Quotient(float divisor)
      : divisor(divisor), reciprocal(1.f / divisor), is_plain(divisor > 1e-25f && divisor < 1e25f) {}

  __device__ __forceinline__ float operator()(float x) const {
    if (!is_plain) return divisor == 0.f ? 0.f : x / divisor;
    const float quotient = x * reciprocal;
    // What is beyond all ranges has no remainder.
    return fabsf(quotient) < 1e30f ? fmaf(fmaf(-divisor, quotient, x), reciprocal, quotient) : quotient;
  }
};

// W numbers at once. FITS says that none is beyond the dtype's greatest by more than a rounding, and that what has no number
// that is not one has none here.
template <typename Y, bool FITS> struct Narrow {
  static __device__ __forceinline__ void run(const float (&x)[W], Vector<Y, W>& out) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane) out.at[lane] = from_float<Y>(x[lane]);
  }
};

template <bool FITS> struct Narrow<signed char, FITS> {
  static __device__ __forceinline__ void run(const float (&x)[W], Vector<signed char, W>& out) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      // What is not a number is 0.
      const float number = FITS || x[lane] == x[lane] ? x[lane] : 0.f;
      const float held = FITS ? number : fminf(fmaxf(number, -128.f), 127.f);
      // Behind 1.5 * 2^23 there is no fraction: the addition rounds, and the lowest byte is the whole number.
      out.at[lane] = static_cast<signed char>(__float_as_int(held + 12582912.f));
    }
  }
};

template <__nv_fp8_interpretation_t FORMAT, typename Y> __device__ __forceinline__ void to_eight_bits(const float (&x)[W], Vector<Y, W>& out) {
  if constexpr (W % 4 == 0) {
    // Words, and no bytes: taken apart and joined again they would cost more than they are rounded by.
    unsigned words[(W + 3) / 4];
#pragma unroll
    for (int word = 0; word < W / 4; ++word) {
      const unsigned low = __nv_cvt_float2_to_fp8x2({x[4 * word], x[4 * word + 1]}, __NV_SATFINITE, FORMAT);
      const unsigned high = __nv_cvt_float2_to_fp8x2({x[4 * word + 2], x[4 * word + 3]}, __NV_SATFINITE, FORMAT);
      words[word] = low | high << 16;
    }
    memcpy(&out, words, sizeof(out));
  } else if constexpr (W % 2 == 0) {
#pragma unroll
    for (int lane = 0; lane < W; lane += 2) {
      const __nv_fp8x2_storage_t pair = __nv_cvt_float2_to_fp8x2({x[lane], x[lane + 1]}, __NV_SATFINITE, FORMAT);
      out.at[lane].__x = static_cast<unsigned char>(pair);
      out.at[lane + 1].__x = static_cast<unsigned char>(pair >> 8);
    }
  } else {
#pragma unroll
    for (int lane = 0; lane < W; ++lane) out.at[lane] = Y(x[lane]);
  }
}

template <bool FITS> struct Narrow<__nv_fp8_e4m3, FITS> {
  static __device__ __forceinline__ void run(const float (&x)[W], Vector<__nv_fp8_e4m3, W>& out) {
    to_eight_bits<__NV_E4M3>(x, out);
  }
};

template <bool FITS> struct Narrow<__nv_fp8_e5m2, FITS> {
  static __device__ __forceinline__ void run(const float (&x)[W], Vector<__nv_fp8_e5m2, W>& out) {
    to_eight_bits<__NV_E5M2>(x, out);
  }
};
