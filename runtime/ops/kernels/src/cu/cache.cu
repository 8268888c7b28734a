// Keys and values into a cache, out of its pages, and two parts of an attention joined.
//
// T       the elements of keys and values
// C       those of the cache
// LANES   how many a thread takes

template <typename To, typename From> __device__ __forceinline__ To converted(From x) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return x;
  } else {
    // What is too large for eight bits is not a number.
    To narrow;
    narrow.__x = __nv_cvt_float_to_fp8(to_float(x), __NV_NOSAT, __NV_E4M3);
    return narrow;
  }
}

#ifdef APPEND
extern "C" __global__ void __launch_bounds__(256)
append(const T* k, const T* v, C* k_cache, C* v_cache, const long long* slots, long long elements, int width) {
  const long long at = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * LANES;
  if (at >= elements) return;
  const long long row = at / width, of = at % width, to = slots[row] * width + of;
  const auto key = *reinterpret_cast<const Vector<T, LANES>*>(k + at);
  const auto value = *reinterpret_cast<const Vector<T, LANES>*>(v + at);
  Vector<C, LANES> keys, values;
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
    keys.at[lane] = converted<C>(key.at[lane]), values.at[lane] = converted<C>(value.at[lane]);
  }
  *reinterpret_cast<Vector<C, LANES>*>(k_cache + to) = keys;
  *reinterpret_cast<Vector<C, LANES>*>(v_cache + to) = values;
}
#endif

#ifdef GATHER
extern "C" __global__ void __launch_bounds__(256)
gather(const T* k_pages, const T* v_pages, const int* page_table, const int2* rows, T* k, T* v, long long elements, int width,
       int pages, int page_size) {
  const long long at = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * LANES;
  if (at >= elements) return;
  const long long row = at / width, of = at % width;
  const int2 place = rows[row];
  const long long page = page_table[static_cast<long long>(place.x) * pages + place.y / page_size];
  const long long from = (page * page_size + place.y % page_size) * width + of;
  const auto key = *reinterpret_cast<const Vector<T, LANES>*>(k_pages + from);
  const auto value = *reinterpret_cast<const Vector<T, LANES>*>(v_pages + from);
  *reinterpret_cast<Vector<T, LANES>*>(k + at) = key;
  *reinterpret_cast<Vector<T, LANES>*>(v + at) = value;
}
#endif

#ifdef MERGE
// o and lse of keys that are those of a and those of b.
extern "C" __global__ void __launch_bounds__(256)
merge(const T* o_a, const float* lse_a, const T* o_b, const float* lse_b, T* o, float* lse, long long elements, int width) {
  const long long at = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * LANES;
  if (at >= elements) return;
  const long long row = at / width;
  const float a = lse_a[row], b = lse_b[row], most = fmaxf(a, b);
  // Without any key on either side there is nothing to weigh.
  const bool is_empty = most == -INFINITY;
  const float of_a = is_empty ? 0.f : expf(a - most), of_b = is_empty ? 0.f : expf(b - most), sum = of_a + of_b;
  const float weight_a = is_empty ? 0.f : of_a / sum, weight_b = is_empty ? 0.f : of_b / sum;
  const auto first = *reinterpret_cast<const Vector<T, LANES>*>(o_a + at);
  const auto second = *reinterpret_cast<const Vector<T, LANES>*>(o_b + at);
  Vector<T, LANES> out;
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
    out.at[lane] = from_float<T>(weight_a * to_float(first.at[lane]) + weight_b * to_float(second.at[lane]));
  }
  *reinterpret_cast<Vector<T, LANES>*>(o + at) = out;
  if (at % width == 0) lse[row] = is_empty ? -INFINITY : most + logf(sum);
}
#endif
