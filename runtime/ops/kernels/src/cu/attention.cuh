// What attention kernels share. A block has rows of the queries of one key head: row r is query r / SHARE of the request, head
// r % SHARE of those that share the keys. Keys and values are tiles of rows in shared memory, a row padded by 16 bytes: so
// eight rows at the same column lie in different banks.
//
// T                elements
// HEAD, VALUE      widths of a key and a value; KEY_PITCH and VALUE_PITCH the padded rows, which are multiples of 16 and 8 more
// SHARE            query heads a key head
// CAUSAL, WINDOW   whether a query sees only itself and what is before it, and how far back (0: all)
// SOFTCAP          whether scores are held
// SINKS            whether each head has a score besides
// PAGE             rows of a page; 0 where keys lie behind one another

// A score as a power of two.
__device__ __forceinline__ float score(float x, float scale, float cap) {
#if SOFTCAP
  // tanh(y) = 1 - 2 / (1 + e^2y), whose error is small beside one.
  const float twice = two_to(x * (scale * 2.f * LOG2E / cap));
  return cap * LOG2E * (1.f - 2.f * __frcp_rn(1.f + twice));
#else
  return x * (scale * LOG2E);
#endif
}

// Where the keys of a request are.
struct Keys {
  const T* k;
  const T* v;
  const int* pages;
  long long first;
  int groups;

  __device__ __forceinline__ long long row(int at) const {
#if PAGE
    return static_cast<long long>(__ldg(pages + at / PAGE)) * PAGE + at % PAGE;
#else
    return first + at;
#endif
  }
};

// ROWS rows of `width` elements to shared memory, from row `start` on; zeros beyond `end` and beyond the width.
template <int ROWS, int WIDTH, int PITCH, int THREADS>
__device__ __forceinline__ void load_rows(T* to, const T* from, const Keys& keys, int group, int start, int end) {
  constexpr int CHUNKS = (PITCH - 8) / 8;
#pragma unroll
  for (int at = threadIdx.x; at < ROWS * CHUNKS; at += THREADS) {
    const int row = at / CHUNKS, chunk = at % CHUNKS, key = start + row;
    const bool within = key < end;
    const T* source = from + (keys.row(within ? key : 0) * keys.groups + group) * WIDTH + chunk * 8;
    T* target = to + row * PITCH + chunk * 8;
    if constexpr (WIDTH % 8 == 0) {
      const bool valid = within && chunk * 8 < WIDTH;
      copy_async(shared_address(target), valid ? source : from, valid);
    } else {
      for (int of = 0; of < 8; ++of) target[of] = within && chunk * 8 + of < WIDTH ? source[of] : T(0.f);
    }
  }
}

// Where the four matrices of a 16 x 16 tile start for a lane: of a left operand, of keys, and of values that are transposed.
__device__ __forceinline__ int left_place(int lane, int pitch) { return lane % 16 * pitch + lane / 16 * 8; }
__device__ __forceinline__ int key_place(int lane, int pitch) { return (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8; }
__device__ __forceinline__ int value_place(int lane, int pitch) { return lane % 16 * pitch + lane / 16 * 8; }

__device__ __forceinline__ float most_of_four(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ float sum_of_four(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}
