// y = FUNCTION(x), element by element.
//
// TX, TY        the elements of x and y
// FUNCTION(x)   an expression of x, as it is computed, and of the scalars a and b
// SCALAR        their type
// LANES         elements a vector
// VECTORS       vectors a thread, all loaded before the first is computed
// WORDS(word)   the function of four Booleans at a time, a byte each, where there is such a one

__device__ __forceinline__ auto apply(Computed<TX> x, SCALAR a, SCALAR b) { return FUNCTION(x); }

// y may be x.
extern "C" __global__ void __launch_bounds__(256) unary(const TX* x, TY* y, long long elements, SCALAR a, SCALAR b) {
  constexpr int STEP = 256 * LANES;
  const long long block = static_cast<long long>(blockIdx.x) * (STEP * VECTORS);
  const long long start = block + threadIdx.x * LANES;
  if (block + STEP * VECTORS <= elements) {
    Vector<TX, LANES> in[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) in[v] = load<TX, LANES>(x + start + v * STEP);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
#ifdef WORDS
      Vector<TY, LANES> words;
#pragma unroll
      for (int word = 0; word < LANES / 4; ++word) {
        reinterpret_cast<unsigned*>(words.at)[word] = WORDS(reinterpret_cast<const unsigned*>(in[v].at)[word]);
      }
      store<TY, LANES>(y + start + v * STEP, words);
#else
      decltype(apply(widen(in[0].at[0]), a, b)) out[LANES];
#pragma unroll
      for (int lane = 0; lane < LANES; ++lane) out[lane] = apply(widen(in[v].at[lane]), a, b);
      store_narrow(y + start + v * STEP, out);
#endif
    }
  } else {
    for (int v = 0; v < VECTORS; ++v) {
      for (int lane = 0; lane < LANES; ++lane) {
        const long long at = start + v * STEP + lane;
        if (at < elements) y[at] = narrow<TY>(apply(widen(x[at]), a, b));
      }
    }
  }
}
