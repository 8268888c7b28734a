// The nearest number of a narrow dtype, ties to even, of those that are finite.
template <typename Y> __device__ __forceinline__ Y narrow(float x) { return from_float<Y>(x); }
template <> __device__ __forceinline__ signed char narrow<signed char>(float x) {
  return static_cast<signed char>(fminf(fmaxf(rintf(x), -128.f), 127.f));
}
template <> __device__ __forceinline__ __nv_fp8_e4m3 narrow<__nv_fp8_e4m3>(float x) { return __nv_fp8_e4m3(x); }
template <> __device__ __forceinline__ __nv_fp8_e5m2 narrow<__nv_fp8_e5m2>(float x) { return __nv_fp8_e5m2(x); }
