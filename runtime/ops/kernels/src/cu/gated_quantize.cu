// The product of the activated gate with the value in 8 bits, and a scale for each group of columns.
//
// ELEMENT  the elements of x; a row is the gates, and behind them the values
// LANES    elements a vector; a group is a multiple of it
// VECTORS  vectors a thread holds
// TEAM     threads a group, a power of two; where it is more than a warp, the group is a block's
// HELD     1 where the vectors that a team holds are all of a group

using T = ELEMENT;

constexpr float GREATEST = 448.f;

__device__ __forceinline__ float greatest_of_team(float x) {
  constexpr int SPAN = TEAM < 32 ? TEAM : 32;
#pragma unroll
  for (int step = SPAN / 2; step > 0; step /= 2) x = maximum(x, __shfl_xor_sync(0xffffffffu, x, step));
#if TEAM > 32
  __shared__ float warps[TEAM / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = warps[0];
#pragma unroll
  for (int warp = 1; warp < TEAM / 32; ++warp) x = maximum(x, warps[warp]);
#endif
  return x;
}

// Vectors beyond VECTORS a thread are computed twice: once for the scale, once to be stored.
extern "C" __global__ void __launch_bounds__(TEAM > 256 ? TEAM : 256) gated_quantize(const T* x, __nv_fp8_e4m3* q, float* scale, unsigned groups, long long width, int group, Divisor row_groups) {
  const unsigned number = TEAM > 32 ? blockIdx.x : (blockIdx.x * 256 + threadIdx.x) / TEAM;
  const int member = threadIdx.x % TEAM;
  const bool there = number < groups;
  const unsigned row = row_groups.of(number);
  const T* const gates = x + row * 2 * width + static_cast<long long>(number - row * row_groups.by) * group;
  const int vectors = there ? group / LANES : 0;

  const auto product = [&](const Vector<T, LANES>& gate, const Vector<T, LANES>& value, float (&out)[LANES]) {
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      out[lane] = silu(to_float(gate.at[lane])) * to_float(value.at[lane]);
    }
  };
  Vector<T, LANES> gate[VECTORS], value[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int vector = member + v * TEAM;
    if (vector < vectors) {
      gate[v] = load<T, LANES>(gates + vector * LANES);
      value[v] = load<T, LANES>(gates + width + vector * LANES);
    }
  }
  float held[VECTORS][LANES], most = 0.f;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (member + v * TEAM < vectors) {
      product(gate[v], value[v], held[v]);
#pragma unroll
      for (int lane = 0; lane < LANES; ++lane) most = maximum(most, fabsf(held[v][lane]));
    }
  }
#if !HELD
  for (int vector = member + VECTORS * TEAM; vector < vectors; vector += TEAM) {
    float out[LANES];
    product(load<T, LANES>(gates + vector * LANES), load<T, LANES>(gates + width + vector * LANES), out);
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) most = maximum(most, fabsf(out[lane]));
  }
#endif
  const float by = greatest_of_team(most) / GREATEST;
  if (!there) return;
  if (member == 0) scale[number] = by;
  const float factor = by == 0.f ? 0.f : 1.f / by;
  const auto put = [&](int vector, const float (&out)[LANES]) {
    Vector<__nv_fp8_e4m3, LANES> bytes;
    if constexpr (LANES == 1) bytes.at[0].__x = __nv_cvt_float_to_fp8(out[0] * factor, __NV_SATFINITE, __NV_E4M3);
#pragma unroll
    for (int lane = 0; lane + 1 < LANES; lane += 2) {
      // Two are rounded by one instruction.
      const unsigned pair = __nv_cvt_float2_to_fp8x2({out[lane] * factor, out[lane + 1] * factor}, __NV_SATFINITE, __NV_E4M3);
      bytes.at[lane].__x = pair & 0xff, bytes.at[lane + 1].__x = pair >> 8;
    }
    store<__nv_fp8_e4m3, LANES>(q + static_cast<long long>(number) * group + vector * LANES, bytes);
  };
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (member + v * TEAM < vectors) put(member + v * TEAM, held[v]);
  }
#if !HELD
  for (int vector = member + VECTORS * TEAM; vector < vectors; vector += TEAM) {
    float out[LANES];
    product(load<T, LANES>(gates + vector * LANES), load<T, LANES>(gates + width + vector * LANES), out);
    put(vector, out);
  }
#endif
}
