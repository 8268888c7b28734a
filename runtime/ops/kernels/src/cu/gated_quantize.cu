// The product of the activated gate with the value in 8 bits, and a scale for each group of columns.
//
// ELEMENT  the elements of x; a row is the gates, and behind them the values
// LANES    elements a vector; a group is a multiple of it
// VECTORS  vectors a thread holds
// TEAM     threads a group, a power of two; where it is more than a warp, the group is a block's

using T = ELEMENT;

constexpr float GREATEST = 448.f;

__device__ __forceinline__ float greatest_of_team(float x) {
  constexpr int SPAN = TEAM < 32 ? TEAM : 32;
#pragma unroll
  for (int step = SPAN / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
#if TEAM > 32
  __shared__ float warps[TEAM / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = warps[0];
#pragma unroll
  for (int warp = 1; warp < TEAM / 32; ++warp) x = fmaxf(x, warps[warp]);
#endif
  return x;
}

// Vectors beyond VECTORS a thread are computed twice: once for the scale, once to be stored.
extern "C" __global__ void __launch_bounds__(TEAM > 256 ? TEAM : 256) gated_quantize(const T* x, __nv_fp8_e4m3* q, float* scale, long long groups, long long width, long long group) {
  const long long number = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / TEAM;
  const int member = threadIdx.x % TEAM;
  const bool there = number < groups;
  const long long a_row = width / group, row = number / a_row;
  const T* const gates = x + row * 2 * width + (number - row * a_row) * group;
  const int vectors = there ? static_cast<int>(group / LANES) : 0;

  const auto product = [&](const Vector<T, LANES>& gate, const Vector<T, LANES>& value, float (&out)[LANES]) {
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      const float x = to_float(gate.at[lane]);
      // Right to a few of the last places: the scale keeps single precision.
      out[lane] = __fdividef(x, 1.f + expf(-x)) * to_float(value.at[lane]);
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
      for (int lane = 0; lane < LANES; ++lane) most = fmaxf(most, fabsf(held[v][lane]));
    }
  }
  for (int vector = member + VECTORS * TEAM; vector < vectors; vector += TEAM) {
    float out[LANES];
    product(load<T, LANES>(gates + vector * LANES), load<T, LANES>(gates + width + vector * LANES), out);
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) most = fmaxf(most, fabsf(out[lane]));
  }
  const float by = greatest_of_team(most) / GREATEST;
  if (!there) return;
  if (member == 0) scale[number] = by;
  const float factor = by == 0.f ? 0.f : 1.f / by;
  const auto put = [&](int vector, const float (&out)[LANES]) {
    Vector<__nv_fp8_e4m3, LANES> bytes;
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      bytes.at[lane].__x = __nv_cvt_float_to_fp8(out[lane] * factor, __NV_SATFINITE, __NV_E4M3);
    }
    store<__nv_fp8_e4m3, LANES>(q + number * group + vector * LANES, bytes);
  };
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (member + v * TEAM < vectors) put(member + v * TEAM, held[v]);
  }
  for (int vector = member + VECTORS * TEAM; vector < vectors; vector += TEAM) {
    float out[LANES];
    product(load<T, LANES>(gates + vector * LANES), load<T, LANES>(gates + width + vector * LANES), out);
    put(vector, out);
  }
}
