// y = FUNCTION(x), element by element.
//
// TX, TY        the elements of x and y
// FUNCTION(x)   an expression of the float x

constexpr int LANES = 16 / (sizeof(TX) > sizeof(TY) ? sizeof(TX) : sizeof(TY));

__device__ __forceinline__ TY apply(TX element) {
  const float x = to_float(element);
  return from_float<TY>(FUNCTION(x));
}

extern "C" __global__ void __launch_bounds__(256) unary(const TX* x, TY* y, long long elements) {
  const long long start = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * LANES;
  if (start + LANES <= elements) {
    const auto in = *reinterpret_cast<const Vector<TX, LANES>*>(x + start);
    Vector<TY, LANES> out;
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) out.at[lane] = apply(in.at[lane]);
    *reinterpret_cast<Vector<TY, LANES>*>(y + start) = out;
  } else {
    for (long long at = start; at < elements; ++at) y[at] = apply(x[at]);
  }
}
