// Elements at random, the others times `factor`.
//
// ELEMENT  the elements

using T = ELEMENT;

constexpr int LANES = 16 / sizeof(T);

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, 2011).
__device__ __forceinline__ uint4 philox(unsigned long long seed, unsigned long long counter) {
  unsigned key0 = static_cast<unsigned>(seed), key1 = static_cast<unsigned>(seed >> 32);
  uint4 words = {static_cast<unsigned>(counter), static_cast<unsigned>(counter >> 32), 0, 0};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long first = 0xd2511f53ull * words.x, second = 0xcd9e8d57ull * words.z;
    words = {static_cast<unsigned>(second >> 32) ^ words.y ^ key0, static_cast<unsigned>(second),
             static_cast<unsigned>(first >> 32) ^ words.w ^ key1, static_cast<unsigned>(first)};
    key0 += 0x9e3779b9, key1 += 0xbb67ae85;
  }
  return words;
}

// An element is dropped where its word is below `below`.
extern "C" __global__ void __launch_bounds__(256) dropout(const T* x, const long long* seed, T* y, long long elements, int below, float factor) {
  const long long start = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * LANES;
  if (start >= elements) return;
  unsigned words[LANES];
#pragma unroll
  for (int four = 0; four < LANES; four += 4) {
    const uint4 random = philox(static_cast<unsigned long long>(*seed), static_cast<unsigned long long>(start + four) / 4);
    words[four] = random.x, words[four + 1] = random.y, words[four + 2] = random.z, words[four + 3] = random.w;
  }
  const bool is_whole = start + LANES <= elements;
  Vector<T, LANES> in;
  if (is_whole) in = load<T, LANES>(x + start);
  else {
    for (int lane = 0; lane < LANES && start + lane < elements; ++lane) in.at[lane] = x[start + lane];
  }
  float out[LANES];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane) {
    out[lane] = words[lane] < static_cast<unsigned>(below) ? 0.f : widen(in.at[lane]) * factor;
  }
  const auto rounded = narrow_all<T>(out);
  if (is_whole) store<T, LANES>(y + start, rounded);
  else {
    for (int lane = 0; lane < LANES && start + lane < elements; ++lane) y[start + lane] = rounded.at[lane];
  }
}
