// What elementwise kernels share: the type that elements are computed in, vectors of them, functions that CUDA lacks.
//
// NARROW is 1 where results are rounded to 16 bits or fewer: functions then take the hardware's approximations, or polynomials
// of few terms. Their errors are an eighth of that rounding or less, where neither a result nor an exponential that it is made of
// is subnormal: those are zero. A bfloat16 holds some such results: silu and mish are 0 below -87.4, where they are 1e-36 and less,
// the GELU by a sigmoid below -51.4, that by a hyperbolic tangent below -10.0.

#ifndef NARROW
#define NARROW 0
#endif

// Whole numbers and Booleans are computed as they are, complex numbers as pairs, and what is left in single precision.
template <typename T> struct Computing { using Type = float; };
template <> struct Computing<bool> { using Type = bool; };
template <> struct Computing<unsigned char> { using Type = unsigned char; };
template <> struct Computing<int> { using Type = int; };
template <> struct Computing<long long> { using Type = long long; };
template <> struct Computing<float2> { using Type = float2; };
template <typename T> using Computed = typename Computing<T>::Type;

template <typename A, typename B> struct Same { static constexpr bool value = false; };
template <typename A> struct Same<A, A> { static constexpr bool value = true; };

template <typename T> __device__ __forceinline__ Computed<T> widen(T x) {
  if constexpr (Same<Computed<T>, T>::value) return x;
  else return to_float(x);
}

// To eight bits: what rounds to more than the greatest number becomes NaN (E4M3, which has no infinity) or an infinity (E5M2).
// So did PyTorch; on a CPU, its later versions hold E4M3 to the greatest number.
__device__ __forceinline__ __nv_fp8_e4m3 to_e4m3(float x) {
  __nv_fp8_e4m3 y;
  y.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  if (!(fabsf(x) <= 464.f)) y.__x |= 0x7f;
  return y;
}
__device__ __forceinline__ __nv_fp8_e5m2 to_e5m2(float x) {
  __nv_fp8_e5m2 y;
  y.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  if (fabsf(x) >= 61440.f) y.__x = (y.__x & 0x80) | 0x7c;
  return y;
}

template <typename T, typename C> __device__ __forceinline__ T narrow(C x) {
  if constexpr (Same<T, __nv_fp8_e4m3>::value) return to_e4m3(x);
  else if constexpr (Same<T, __nv_fp8_e5m2>::value) return to_e5m2(x);
  else if constexpr (Same<Computed<T>, T>::value) return static_cast<T>(x);
  else return from_float<T>(x);
}

// Halves are rounded in pairs, by one instruction.
template <typename T, typename C, int N> __device__ __forceinline__ Vector<T, N> narrow_all(const C (&x)[N]) {
  Vector<T, N> y;
  if constexpr (N % 2 == 0 && Same<T, __half>::value) {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const __half2 pair = __floats2half2_rn(x[i], x[i + 1]);
      y.at[i] = pair.x, y.at[i + 1] = pair.y;
    }
  } else if constexpr (N % 2 == 0 && Same<T, __nv_bfloat16>::value) {
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(x[i], x[i + 1]);
      y.at[i] = pair.x, y.at[i + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) y.at[i] = narrow<T>(x[i]);
  }
  return y;
}

template <typename T, int N> __device__ __forceinline__ Vector<T, N> load(const T* at) {
  return *reinterpret_cast<const Vector<T, N>*>(at);
}
template <typename T, int N> __device__ __forceinline__ void store(T* at, const Vector<T, N>& x) {
  *reinterpret_cast<Vector<T, N>*>(at) = x;
}
// What was computed, made narrow. Booleans are merged to words: bytes that are made one by one are shifted as well.
template <typename T, typename C, int N> __device__ __forceinline__ void store_narrow(T* at, const C (&x)[N]) {
  if constexpr (N % 4 == 0 && Same<T, bool>::value && Same<C, bool>::value) {
    Vector<unsigned, N / 4> words;
#pragma unroll
    for (int word = 0; word < N / 4; ++word) {
      unsigned pairs[2];
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const int first = 4 * word + 2 * pair;
        pairs[pair] = (x[first] ? 1u << 16 * pair : 0u) + (x[first + 1] ? 256u << 16 * pair : 0u);
      }
      words.at[word] = pairs[0] + pairs[1];
    }
    store<unsigned, N / 4>(reinterpret_cast<unsigned*>(at), words);
  } else {
    store<T, N>(at, narrow_all<T>(x));
  }
}

// --- functions ---

// `above` where x > limit, else `below`: both are computed, instead of one or the other by a branch.
__device__ __forceinline__ float chosen_above(float x, float limit, float above, float below) {
#if NARROW
  float y;
  asm("{\n\t.reg .pred p;\n\tsetp.gt.f32 p, %1, %2;\n\tselp.f32 %0, %3, %4, p;\n\t}"
      : "=f"(y) : "f"(x), "f"(limit), "f"(above), "f"(below));
  return y;
#else
  return x > limit ? above : below;
#endif
}

__device__ __forceinline__ float clamped_to(float x, float most) { return minimum(maximum(x, -most), most); }
__device__ __forceinline__ float reciprocal(float x) {
#if NARROW
  return reciprocal_of(x);
#else
  return 1.f / x;
#endif
}
__device__ __forceinline__ float quotient(float a, float b) {
#if NARROW
  return a * reciprocal(b);
#else
  return a / b;
#endif
}
// exp(x) as a part of a larger number, where it does not matter that a subnormal is zero.
__device__ __forceinline__ float exponential_part(float x) {
#if NARROW
  return two_to(LOG2E * x);
#else
  return expf(x);
#endif
}
// exp(-x) for x of [0, infinity], where it does not matter that a subnormal is zero.
__device__ __forceinline__ float exponential_of_minus(float x) {
#if NARROW
  return two_to(-LOG2E * x);
#else
  // What rounding takes from the power of two, and from ln(2), is made up for; of an infinity there is nothing to.
  const float held = minimum(x, 104.f), z = -LOG2E * held, y = two_to(z);
  return fmaf(y, fmaf(1.9046543e-9f, z, fmaf(-LN2, z, -held)), y);
#endif
}
__device__ __forceinline__ float exponential(float x) {
#if NARROW
  return __expf(x);
#else
  return expf(x);
#endif
}
// 1 / x where x or the result may be subnormal, which `reciprocal` does not tell from zero.
__device__ __forceinline__ float inverse(float x) {
#if NARROW
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.f / x;
#endif
}
__device__ __forceinline__ float root(float x) {
#if NARROW
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return sqrtf(x);
#endif
}

// 1.5 2^23: a small number that is added becomes whole, and the last bits of the sum.
constexpr float ROUNDING = 12582912.f;

// log(1 + x) for x of [-1/16, 1/16], to 2^-22 of it, times a constant.
__device__ __forceinline__ float log1p_series(float x, float times = 1.f) {
  return x * fmaf(x, fmaf(x, fmaf(x, fmaf(x, 0.2f * times, -0.25f * times), times / 3.f), -0.5f * times), times);
}
// The hardware's logarithm is right to some 2^-22, which next to 1 is much of the result.
__device__ __forceinline__ float logarithm(float x) {
#if NARROW
  const float beyond = x - 1.f;
  return fabsf(beyond) <= 0.0625f ? log1p_series(beyond) : __logf(x);
#else
  return logf(x);
#endif
}
__device__ __forceinline__ float logarithm_1p(float x) {
#if NARROW
  // 1 + x is no subnormal.
  const float log2 = log2_of(1.f + x);
  return fabsf(x) <= 0.0625f ? log1p_series(x) : LN2 * log2;
#else
  // 1 + x = 2^n (1 + f), of n what is infinite or no number comes through.
  const float shifted = ROUNDING - log2_of(1.f + x), negative_n = shifted - ROUNDING;
  const int exponent = __float_as_int(shifted) << 23;
  const float less = fmaf(-0.25f, __int_as_float(__float_as_int(4.f) + exponent), 1.f);
  const float f = fminf(__int_as_float(__float_as_int(x) + exponent) - less, 1.f);
  // 2 artanh(s), s = f / (2 + f), as far as it is not f. A zero keeps its sign.
  const float s = f * reciprocal_of(2.f + f), t = s * s;
  const float series = fmaf(fmaf(0.29874599f, t, 0.39977443f), t, 0.66666776f);
  return fmaf(-LN2, negative_n, fmaf(-s, fmaf(-t, series, f), f));
#endif
}
// log(1 + x) for x of [0, 1].
__device__ __forceinline__ float log1p_of_unit(float x) {
#if NARROW
  // x p(x), fitted to 9e-6 of it.
  float p = -0.023860270f;
  p = fmaf(p, x, 0.101198718f), p = fmaf(p, x, -0.210026503f), p = fmaf(p, x, 0.325198114f);
  p = fmaf(p, x, -0.499360293f), p = fmaf(p, x, 0.999991596f);
  return x * p;
#else
  // 2 artanh(s), s = x / (2 + x): a polynomial that was fitted to 2^-27 of it.
  const float s = x * reciprocal_of(2.f + x), t = s * s;
  const float sum = fmaf(fmaf(fmaf(0.140122354f, t, 0.139995694f), t, 0.200108498f), t, 0.333332062f);
  return 2.f * fmaf(s * t, sum, s);
#endif
}
// exp(x) - 1
__device__ __forceinline__ float exponential_m1(float x) {
#if NARROW
  // Where the one ends and the other begins, either is right to 6e-6 of it.
  const float series = x * fmaf(x, fmaf(x, 1.f / 6.f, 0.5f), 1.f);
  return fabsf(x) <= 0.03125f ? series : exponential_part(x) - 1.f;
#else
  return expm1f(x);
#endif
}
__device__ __forceinline__ float hyperbolic_tangent(float x) {
#if NARROW
  const float square = x * x;
  const float series = x * fmaf(square, fmaf(square, 2.f / 15.f, -1.f / 3.f), 1.f);
  return fabsf(x) <= 0.25f ? series : fmaf(-2.f, reciprocal(1.f + exponential_part(2.f * x)), 1.f);
#else
  return tanhf(x);
#endif
}
__device__ __forceinline__ float error_function(float x) {
#if NARROW
  // x p(x^2), fitted on [-3, 3] to 5e-6 of it; beyond, erf is 1 to 3e-5. The square is taken from the middle of its range, so
  // that no terms cancel.
  const float held = clamped_to(x, 3.f), w = fmaf(held * held, 1.f / 4.5f, -1.f);
  float p = -0.0031216191f;
  p = fmaf(p, w, 0.0082057985f), p = fmaf(p, w, -0.011539157f), p = fmaf(p, w, 0.021718970f);
  p = fmaf(p, w, -0.043956608f), p = fmaf(p, w, 0.073399290f), p = fmaf(p, w, -0.11011225f);
  p = fmaf(p, w, 0.15739150f), p = fmaf(p, w, -0.22879525f), p = fmaf(p, w, 0.47013381f);
  return held * p;
#else
  return erff(x);
#endif
}
// a^b where it is an exception, or a is negative: then y is |a|^b. One copy of it lies behind what is computed for each element.
__device__ __noinline__ float exceptional_power(float a, float b, float y, bool plain) {
  if (!plain) return powf(a, b);
  if (truncf(b) != b) return __int_as_float(0x7fffffff);
  return truncf(0.5f * b) != 0.5f * b ? -y : y;
}
// a^b, with the exceptions of C's pow.
__device__ __forceinline__ float power(float a, float b) {
#if NARROW
  const float beyond = fabsf(a) - 1.f;
  const float log2 = chosen_above(fabsf(beyond), 0.0625f, log2_of(fabsf(a)), log1p_series(beyond, LOG2E));
  const float z = b * log2, y = two_to(z);
#else
  // |a| = 2^n m, m of [1 / sqrt(2), sqrt(2)].
  const float shifted = ROUNDING - log2_of(fabsf(a)), n = ROUNDING - shifted;
  const float m = fabsf(__int_as_float(__float_as_int(a) + (__float_as_int(shifted) << 23)));
  // log2(m) = 2 / ln(2) artanh(s), s = (m - 1) / (m + 1), the derivative of which is 2 / ln(2) / (1 - s^2).
  const float inverse = reciprocal_of(m + 1.f), s = (m - 1.f) * inverse, t = s * s;
  const float rounding = fmaf(-s, m - 1.f, fmaf(-2.f, s, m - 1.f)) * inverse, s_rest = fmaf(rounding, t, rounding);
  constexpr float HIGH = 2.8853900433f, LOW = 3.8519259782e-8f;
  const float series = fmaf(fmaf(fmaf(fmaf(0.34028152f, t, 0.41170320f), t, 0.57708287f), t, 0.96179670f), t, LOW);
  const float first = fmaf(HIGH, s, n), second = fmaf(series, s, fmaf(HIGH, s_rest, fmaf(HIGH, s, n - first)));
  // As two numbers it is right to 2^-29 of it, up to 126 times which is the error of the power.
  const float log2 = first + second, log2_rest = first - log2 + second;
  const float z = b * log2, z_rest = fmaf(b, log2_rest, fmaf(b, log2, -z));
  const float nearly = two_to(z), y = fmaf(nearly, LN2 * z_rest, nearly);
#endif
  // Exceptions have zeros, subnormals, infinities and what is no number: z is not within this then, or the power is not.
  const bool plain = fabsf(z) < 126.f;
  return __builtin_expect(plain & !(a < 0.f), true) ? y : exceptional_power(a, b, y, plain);
}

__device__ __forceinline__ float sigmoid(float x) { return reciprocal(1.f + exponential_part(-x)); }
__device__ __forceinline__ float silu(float x) { return quotient(x, 1.f + exponential_part(-x)); }
// x / 2 (1 + erf(x / sqrt(2))), without the sum that cancels below zero.
__device__ __forceinline__ float gelu(float x) {
#if NARROW
  // The normal distribution's tail beyond |x| is exp(-x^2 / 2) t p(t), t = 1 / (1 + |x| / 4): p was fitted on [0, 9], and is
  // right to 2.4e-5 there.
  const float t = reciprocal(fmaf(0.25f, fabsf(x), 1.f));
  float p = 0.245859712f;
  p = fmaf(p, t, -0.114251077f), p = fmaf(p, t, 0.189402834f), p = fmaf(p, t, 0.077226385f), p = fmaf(p, t, 0.101773940f);
  const float tail = two_to(x * (x * (-0.5f * LOG2E))) * (t * p);
  return x * fabsf(tail - (x > 0.f ? 1.f : 0.f));
#else
  // The same, t = 1 / (1 + 0.6 |x|), p around 0.75 and fitted to 2^-26. What rounding takes from the square and from the power
  // of two is made up for.
  const float held = fminf(fabsf(x), 15.f), half = -0.5f * held, square = half * held, z = LOG2E * square;
  const float rest = fmaf(-LN2, z, square) + fmaf(half, held, -square), nearly = two_to(z), power = fmaf(nearly, rest, nearly);
  const float t = reciprocal_of(fmaf(0.6f, held, 1.f)), u = t - 0.75f;
  float p = 0.116144136f;
  p = fmaf(p, u, 0.117011443f), p = fmaf(p, u, -0.0320146494f), p = fmaf(p, u, 0.0222019255f);
  p = fmaf(p, u, 0.00265546981f), p = fmaf(p, u, -0.0584488213f), p = fmaf(p, u, 0.0857921466f);
  p = fmaf(p, u, -0.0262655094f), p = fmaf(p, u, -0.139358431f), p = fmaf(p, u, 0.235230595f), p = fmaf(p, u, 0.450032532f);
  const float tail = power * (t * p);
  return x * fabsf(tail - (x > 0.f ? 1.f : 0.f));
#endif
}
// x / 2 (1 + tanh(u)) = x / (1 + exp(-2u)), which does not cancel.
__device__ __forceinline__ float gelu_tanh(float x) {
  const float twice = x * (1.5957691216057308f + 0.071354816272600242f * (x * x));
  return quotient(x, 1.f + exponential_part(-twice));
}
__device__ __forceinline__ float softplus(float x) { return fmaxf(x, 0.f) + log1p_of_unit(exponential_of_minus(fabsf(x))); }
__device__ __forceinline__ float log_sigmoid(float x) {
  return minimum(x, 0.f) - log1p_of_unit(exponential_of_minus(fabsf(x)));
}
__device__ __forceinline__ float elu(float x, float alpha) {
  return chosen_above(x, 0.f, x, alpha * exponential_m1(x));
}
// x / 6 (x + 3), from -3 to 3.
__device__ __forceinline__ float hardswish(float x) {
#if NARROW
  return x * __saturatef(fmaf(x, 1.f / 6.f, 0.5f));
#else
  return x * minimum(maximum(x + 3.f, 0.f), 6.f) * (1.f / 6.f);
#endif
}
// tanh(log(1 + w)) = (w^2 + 2w) / (w^2 + 2w + 2), w = exp(x).
__device__ __forceinline__ float mish(float x) {
  const float w = exponential_part(fminf(x, 20.f));
  const float n = w * (w + 2.f);
  return x > 20.f ? x : x * quotient(n, n + 2.f);
}

template <typename T> __device__ __forceinline__ T maximum(T a, T b) { return a < b ? b : a; }
template <typename T> __device__ __forceinline__ T minimum(T a, T b) { return b < a ? b : a; }
template <typename T> __device__ __forceinline__ T clamped(T x, T low, T high) { return minimum(maximum(x, low), high); }

// The gated unit of GPT-OSS; a limit is an infinity where there is none.
__device__ __forceinline__ float clamped_swiglu(float gate, float value, float alpha, float limit) {
  gate = minimum(gate, limit), value = clamped(value, -limit, limit);
  return quotient(gate, 1.f + exponential_part(-alpha * gate)) * (value + 1.f);
}

__device__ __forceinline__ float negated(float x) { return -x; }
__device__ __forceinline__ int negated(int x) { return static_cast<int>(0u - static_cast<unsigned>(x)); }
__device__ __forceinline__ float magnitude(float x) { return fabsf(x); }
__device__ __forceinline__ int magnitude(int x) { return x < 0 ? negated(x) : x; }
__device__ __forceinline__ float magnitude(float2 x) { return hypotf(x.x, x.y); }
template <typename T> __device__ __forceinline__ T sign(T x) { return static_cast<T>((x > T(0)) - (x < T(0))); }

// a + factor * b; whole numbers wrap around.
__device__ __forceinline__ float plus_times(float a, float b, float factor) { return fmaf(factor, b, a); }
__device__ __forceinline__ int plus_times(int a, int b, int factor) {
  return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(factor) * static_cast<unsigned>(b));
}

// a - n b for the whole number n nearest to a / b: exact, where n is below 2^22.
struct Nearest { float n, rest; };
__device__ __forceinline__ Nearest divide_to_nearest(float a, float b, float by) {
  const float n = rintf(by);
  return {n, fmaf(-n, b, a)};
}
__device__ __forceinline__ bool is_plain(float by, float b) { return fabsf(by) < 4194304.f && fabsf(b) < 8.5e37f; }
// The remainder that has the sign of b.
__device__ __forceinline__ float remainder_of(float a, float b) {
  const float by = __fdividef(a, b);
  float rest = is_plain(by, b) ? divide_to_nearest(a, b, by).rest : fmodf(a, b);
  // The approximate quotient may be off next to a half; the rest is then a little beyond b / 2, and still right.
  if (rest != 0.f && (rest < 0.f) != (b < 0.f)) rest += b;
  return rest;
}
__device__ __forceinline__ float floor_quotient(float a, float b) {
  const float by = a / b;
  if (!is_plain(by, b)) {
    // An infinite number has no rest, and one that is small beside the divisor is none of it, or less than that.
    if (isinf(a) && b != 0.f) return __int_as_float(0x7fffffff);
    return by == 0.f && a != 0.f && signbit(by) ? -1.f : floorf(by);
  }
  const Nearest nearest = divide_to_nearest(a, b, by);
  const bool below = nearest.rest != 0.f && (nearest.rest < 0.f) != (b < 0.f);
  return below ? nearest.n - 1.f : nearest.n;
}
__device__ __forceinline__ float trunc_quotient(float a, float b) {
  const float by = a / b;
  if (!is_plain(by, b)) return truncf(by);
  const Nearest nearest = divide_to_nearest(a, b, by);
  // Beyond the quotient, away from zero: its rest has the other sign than a.
  const bool beyond = nearest.rest != 0.f && (nearest.rest < 0.f) != (a < 0.f);
  return beyond ? nearest.n - copysignf(1.f, nearest.n) : nearest.n;
}
// Whole numbers: by zero gives zero, and the least number by -1 wraps around.
template <typename T> __device__ __forceinline__ T trunc_whole(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<T>(0ull - static_cast<unsigned long long>(a)) : a / b;
}
template <typename T> __device__ __forceinline__ T remainder_whole(T a, T b) {
  if (b == 0 || b == -1) return 0;
  const T rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
__device__ __forceinline__ int trunc_quotient(int a, int b) { return trunc_whole(a, b); }
__device__ __forceinline__ int floor_quotient(int a, int b) {
  const int q = trunc_whole(a, b);
  // By zero there is no rest, for there is no quotient.
  const int rest = static_cast<int>(static_cast<unsigned>(a) - static_cast<unsigned>(q) * static_cast<unsigned>(b));
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? q - 1 : q;
}
__device__ __forceinline__ int remainder_of(int a, int b) { return remainder_whole(a, b); }
__device__ __forceinline__ long long remainder_of(long long a, long long b) {
  // 64-bit division is many instructions, and most operands are small.
  if (static_cast<unsigned long long>(a | b) >> 32 == 0 && b != 0) {
    return static_cast<unsigned>(a) % static_cast<unsigned>(b);
  }
  return remainder_whole(a, b);
}
