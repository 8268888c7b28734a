// y = FUNCTION(x), element by element.
//
// TX, TY        the elements of x and y
// FUNCTION(x)   an expression of x, as it is computed, and of the scalars a and b
// SCALAR        their type
// LANES         elements a vector
// VECTORS       vectors a thread, all loaded before the first is computed
// THREADS       threads a block
// BOUNDS        those, and how many blocks are to have registers on a multiprocessor where that is said
// WORDS(word)   the function of four Booleans at a time, a byte each, where there is such a one

__device__ __forceinline__ auto apply(Computed<TX> x, SCALAR a, SCALAR b) { return FUNCTION(x); }

// The vectors that start at `start` and STEP elements behind each other: all of them, or those that end before `elements`.
constexpr int STEP = THREADS * LANES;
template <bool WHOLE>
__device__ __forceinline__ void take(const TX* x, TY* y, long long start, long long elements, SCALAR a, SCALAR b) {
  const auto is_there = [&](int v) { return WHOLE || start + v * STEP + LANES <= elements; };
  Vector<TX, LANES> in[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    if (is_there(v)) in[v] = load<TX, LANES>(x + start + v * STEP);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (!is_there(v)) break;
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
}

// y may be x.
extern "C" __global__ void __launch_bounds__(BOUNDS) unary(const TX* x, TY* y, long long elements, SCALAR a, SCALAR b) {
  const long long block = static_cast<long long>(blockIdx.x) * (STEP * VECTORS);
  const long long start = block + threadIdx.x * LANES;
  if (block + STEP * VECTORS <= elements) {
    take<true>(x, y, start, elements, a, b);
    return;
  }
  take<false>(x, y, start, elements, a, b);
  // Behind the last whole vector, of which no thread has another part.
  const long long at = elements / LANES * LANES + threadIdx.x;
  if (LANES > 1 && at < elements) y[at] = narrow<TY>(apply(widen(x[at]), a, b));
}
