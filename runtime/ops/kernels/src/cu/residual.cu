// Residual streams: what a layer reads of them, and what it writes to them.
//
// ELEMENT  the elements of streams
// STREAMS  how many there are
// LANES    elements a vector; a stream's width is a multiple of it

using T = ELEMENT;

// x = sum of sigmoid(coefficient) * stream.
extern "C" __global__ void __launch_bounds__(256) residual_read(const float* coefficients, const T* streams, T* x, long long vectors, long long width, long long row_coefficients) {
  const long long vector = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (vector >= vectors) return;
  const long long row_vectors = width / LANES, token = vector / row_vectors, column = (vector - token * row_vectors) * LANES;
  const T* const from = streams + token * STREAMS * width + column;
  Vector<T, LANES> in[STREAMS];
#pragma unroll
  for (int stream = 0; stream < STREAMS; ++stream) in[stream] = load<T, LANES>(from + stream * width);
  float out[LANES] = {};
#pragma unroll
  for (int stream = 0; stream < STREAMS; ++stream) {
    const float weight = sigmoid(coefficients[token * row_coefficients + stream]);
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) out[lane] = fmaf(weight, to_float(in[stream].at[lane]), out[lane]);
  }
  store<T, LANES>(x + vector * LANES, narrow_all<T>(out));
}

// Each stream becomes a mix of all of them and the layer's output, where it lies.
extern "C" __global__ void __launch_bounds__(256) residual_write(const float* coefficients, T* streams, const T* y, long long vectors, long long width, long long row_coefficients) {
  const long long vector = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (vector >= vectors) return;
  const long long row_vectors = width / LANES, token = vector / row_vectors, column = (vector - token * row_vectors) * LANES;
  T* const at = streams + token * STREAMS * width + column;
  Vector<T, LANES> in[STREAMS];
#pragma unroll
  for (int stream = 0; stream < STREAMS; ++stream) in[stream] = load<T, LANES>(at + stream * width);
  const auto layer = load<T, LANES>(y + vector * LANES);
  const float* const write = coefficients + token * row_coefficients + STREAMS;
  const float* const mix = write + STREAMS;
#pragma unroll
  for (int stream = 0; stream < STREAMS; ++stream) {
    float out[LANES];
    const float weight = write[stream];
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) out[lane] = weight * to_float(layer.at[lane]);
#pragma unroll
    for (int of = 0; of < STREAMS; ++of) {
      const float share = mix[stream * STREAMS + of];
#pragma unroll
      for (int lane = 0; lane < LANES; ++lane) out[lane] = fmaf(share, to_float(in[of].at[lane]), out[lane]);
    }
    store<T, LANES>(at + stream * width, narrow_all<T>(out));
  }
}
