// One step of Adam with decoupled weight decay, in place.
//
// ELEMENT the elements of weight and gradient; moments are in single precision

using T = ELEMENT;

constexpr int LANES = 4;

struct Step {
  float keep;          // 1 - lr * decay
  float beta1, rest1;  // of the first moment: what stays, and what comes
  float beta2, rest2;  // of the second
  float rate;          // lr over the first moment's bias
  float unbias;        // the root of 1 over the second moment's bias
  float eps;
};

__device__ __forceinline__ void move_on(float& weight, float grad, float& moment, float& variance, const Step& step) {
  moment = step.beta1 * moment + step.rest1 * grad;
  variance = step.beta2 * variance + step.rest2 * grad * grad;
  weight = step.keep * weight - step.rate * moment / (sqrtf(variance) * step.unbias + step.eps);
}

extern "C" __global__ void __launch_bounds__(256) adamw(T* weight, const T* grad, float* moment, float* variance, long long elements, Step step) {
  const long long start = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * LANES;
  if (start + LANES <= elements) {
    const auto w = load<T, LANES>(weight + start), g = load<T, LANES>(grad + start);
    auto m = load<float, LANES>(moment + start), v = load<float, LANES>(variance + start);
    float out[LANES];
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      out[lane] = to_float(w.at[lane]);
      move_on(out[lane], to_float(g.at[lane]), m.at[lane], v.at[lane], step);
    }
    store<T, LANES>(weight + start, narrow_all<T>(out));
    store<float, LANES>(moment + start, m);
    store<float, LANES>(variance + start, v);
  } else {
    for (long long at = start; at < elements; ++at) {
      float out = to_float(weight[at]);
      move_on(out, to_float(grad[at]), moment[at], variance[at], step);
      weight[at] = narrow<T>(out);
    }
  }
}
