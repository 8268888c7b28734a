// Rows that are read once and held in registers, by a part of a warp, a block, or a cluster of blocks.
//
// WIDTH      elements of a vector of 16 bytes
// VECTORS    vectors that a thread holds
// GROUP      threads of a block that share a row: a power of two up to 32, or a whole block
// ROWS       rows of a block: more than one for groups within a warp
// CLUSTER    blocks that share a row
// ALIGNED    whether every row starts at a multiple of WIDTH

constexpr int W = WIDTH;

// What exp(x - maximum) is measured from, as a power of two: it is 2^(x * factor - at), so that an element costs one
// multiplication-addition. `at` is the maximum's product rounded, or zero without a finite maximum.
struct Base {
  float factor, at;
  // So far out neighbouring numbers are at least 64 apart, and only the maximum has a power. Measured by powers of two, it has
  // 2^0: the product with LOG2E would be rounded by as much as a power's exponent holds, or be infinite.
  static constexpr float FAR = 0x1p30f;
  Base() = default;
  __device__ __forceinline__ explicit Base(float maximum)
      : factor(fabsf(maximum) < FAR ? LOG2E : 1.f), at(isinf(maximum) ? 0.f : __fmul_rn(maximum, factor)) {}
  __device__ __forceinline__ float power(float x) const { return two_to(fmaf(x, factor, -at)); }
  // By how much it is below its maximum, as a power of two: it is rounded.
  __device__ __forceinline__ float lost(float maximum) const { return isinf(maximum) ? 0.f : fmaf(maximum, factor, -at); }
  // What sums that were measured from the base of another maximum become: between bases, whose products are rounded.
  __device__ __forceinline__ float from(float maximum) const { return two_to(__fmul_rn(maximum, factor) - at); }
};

// A maximum, and a sum of exp(x - maximum) as its base measures them. What is not a number stays in the sum.
struct Mass {
  float maximum, sum;
  static __device__ __forceinline__ Mass neutral() { return {-INFINITY, 0.f}; }
  __device__ __forceinline__ void take(float x) {
    const float greatest = fmaxf(maximum, x);
    const Base base(greatest);
    sum = fmaf(sum, base.from(maximum), base.power(x));
    maximum = greatest;
  }
  __device__ __forceinline__ void merge(Mass b) {
    const float greatest = fmaxf(maximum, b.maximum);
    const Base base(greatest);
    // A factor of infinity comes with a maximum of infinity, whose sum is infinity.
    sum = sum * base.from(maximum) + b.sum * base.from(b.maximum);
    maximum = greatest;
  }
  // The logarithm of the sum of exp(x - maximum).
  __device__ __forceinline__ float log_of_sum() const { return (log2f(sum) - Base(maximum).lost(maximum)) * LN2; }
};

struct Together {
  static __device__ __forceinline__ Mass neutral() { return Mass::neutral(); }
  __device__ __forceinline__ Mass operator()(Mass a, Mass b) const {
    a.merge(b);
    return a;
  }
};

struct Sum {
  static __device__ __forceinline__ float neutral() { return 0.f; }
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

struct Greatest {
  static __device__ __forceinline__ float neutral() { return -INFINITY; }
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// What is not a number comes through.
struct GreatestOrNan {
  static __device__ __forceinline__ float neutral() { return -INFINITY; }
  __device__ __forceinline__ float operator()(float a, float b) const { return maximum(a, b); }
};

// The greatest of pairs of 16-bit floats at once, or the least; what is not a number is passed over, or with NAN_WINS kept.
template <typename E> struct Pair;
template <> struct Pair<__half> { using Type = __half2; };
template <> struct Pair<__nv_bfloat16> { using Type = __nv_bfloat162; };
template <typename E> constexpr bool HAS_PAIRS = false;
template <> constexpr bool HAS_PAIRS<__half> = true;
template <> constexpr bool HAS_PAIRS<__nv_bfloat16> = true;

template <int SIGN, bool NAN_WINS, typename P> __device__ __forceinline__ P extreme_of_pairs(P a, P b) {
  if constexpr (SIGN > 0) return NAN_WINS ? __hmax2_nan(a, b) : __hmax2(a, b);
  else return NAN_WINS ? __hmin2_nan(a, b) : __hmin2(a, b);
}

template <bool NAN_WINS> __device__ __forceinline__ float greater(float a, float b) {
  if constexpr (!NAN_WINS) return fmaxf(a, b);
  float greatest;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(greatest) : "f"(a), "f"(b));
  return greatest;
}

// The greatest of SIGN times each element.
template <int SIGN, bool NAN_WINS, typename E, int N> __device__ __forceinline__ float extreme(const Vector<E, W> (&x)[N]) {
  if constexpr (HAS_PAIRS<E> && W % 2 == 0) {
    using P = typename Pair<E>::Type;
    P best = reinterpret_cast<const P*>(&x[0])[0];
#pragma unroll
    for (int pair = 1; pair < N * W / 2; ++pair)
      best = extreme_of_pairs<SIGN, NAN_WINS>(best, reinterpret_cast<const P*>(&x[pair / (W / 2)])[pair % (W / 2)]);
    return greater<NAN_WINS>(SIGN * to_float(best.x), SIGN * to_float(best.y));
  } else {
    float best = SIGN * to_float(x[0].at[0]);
#pragma unroll
    for (int element = 1; element < N * W; ++element)
      best = greater<NAN_WINS>(best, SIGN * to_float(x[element / W].at[element % W]));
    return best;
  }
}

// Has the compiler convert the vector's elements anew where they are next read, instead of holding them converted as well.
template <typename V> __device__ __forceinline__ void convert_anew(V& vector) {
  if constexpr (sizeof(V) % 4 == 0) {
    int* words = reinterpret_cast<int*>(&vector);
#pragma unroll
    for (int word = 0; word < static_cast<int>(sizeof(V) / 4); ++word) asm volatile("" : "+r"(words[word]));
  }
}

template <typename E> using Held = Words<sizeof(Vector<E, W>)>;

template <typename E, int N> __device__ __forceinline__ auto vectors_of(const Held<E> (&held)[N]) -> const Vector<E, W> (&)[N] {
  return reinterpret_cast<const Vector<E, W>(&)[N]>(held);
}

// What `move` makes of each of a value's words.
template <typename V, typename Move> __device__ __forceinline__ V by_words(V value, Move move) {
  static_assert(sizeof(V) % 4 == 0, "whole words");
  union { V value; int words[sizeof(V) / 4]; } pun = {value};
#pragma unroll
  for (int word = 0; word < static_cast<int>(sizeof(V) / 4); ++word) pun.words[word] = move(pun.words[word]);
  return pun.value;
}

// The value that the lane `mask` away has.
template <typename V> __device__ __forceinline__ V exchange(V value, int mask) {
  return by_words(value, [=](int word) { return __shfl_xor_sync(0xffffffffu, word, mask); });
}

// Over LANES neighbouring lanes; each gets the result.
template <int LANES, typename V, typename Op> __device__ __forceinline__ V over_lanes(V value, Op op) {
#pragma unroll
  for (int mask = LANES / 2; mask > 0; mask /= 2) value = op(value, exchange(value, mask));
  return value;
}

// Over the warps of a block of THREADS threads, each with a value that all of its lanes have; each thread gets the result.
// SLOT tells the uses of a kernel apart, so that one need not wait until all have read what the one before left in shared
// memory.
template <int THREADS, int SLOT, typename V, typename Op> __device__ __forceinline__ V over_warps(V value, Op op) {
  constexpr int WARPS = THREADS / 32;
  if constexpr (WARPS > 1) {
    __shared__ __align__(16) unsigned char memory[WARPS * sizeof(V)];
    V* of_warps = reinterpret_cast<V*>(memory);
    const int lane = threadIdx.x % 32;
    if (lane == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    // Beyond the span the lanes go around: each span of lanes combines the same values in the same order.
    constexpr int SPAN = WARPS > 16 ? 32 : WARPS > 8 ? 16 : WARPS > 4 ? 8 : WARPS > 2 ? 4 : 2;
    value = lane % SPAN < WARPS ? of_warps[lane % SPAN] : Op::neutral();
    value = over_lanes<SPAN>(value, op);
  }
  return value;
}

// Over a block of THREADS threads, a multiple of 32; each gets the result.
template <int THREADS, int SLOT, typename V, typename Op> __device__ __forceinline__ V over_block(V value, Op op) {
  return over_warps<THREADS, SLOT>(over_lanes<32>(value, op), op);
}

#ifdef CLUSTER

#if CLUSTER > 1
#define IN_CLUSTERS __cluster_dims__(CLUSTER, 1, 1)
#else
#define IN_CLUSTERS
#endif

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Says when what the blocks of a cluster send has arrived, for each SLOT.
constexpr int SLOTS = 3;
__device__ __forceinline__ unsigned arrival(int slot) {
  __shared__ __align__(8) unsigned long long memory[SLOTS];
  return static_cast<unsigned>(__cvta_generic_to_shared(memory)) + slot * 8;
}

// The blocks of a cluster write into each other's shared memory only once all have started: each says so first, once, and
// waits for the others where it sends something.
__device__ __forceinline__ void cluster_started() {
  if constexpr (CLUSTER > 1) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int slot = 0; slot < SLOTS; ++slot) start_barrier(arrival(slot), 1);
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
}

__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

// The values that the blocks of a cluster have, each in all of its threads, in the order of the blocks. Stores say themselves
// when they have arrived: a barrier would wait for all of a thread's memory first. Between `cluster_started` and this there is
// no other use of the cluster's barrier; each SLOT is used once, by all of the blocks, IS_FIRST by the first one. So a block
// that ends has got all that is sent to it.
template <int SLOT, bool IS_FIRST, typename V> __device__ __forceinline__ const V* of_blocks(V value) {
  static_assert(sizeof(V) % 4 == 0, "whole words");
  static_assert(SLOT < SLOTS, "there is a barrier for it");
  __shared__ __align__(16) unsigned char memory[CLUSTER * sizeof(V)];
  if constexpr (IS_FIRST) cluster_wait();
  if (threadIdx.x == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrival(SLOT)), "n"(CLUSTER * sizeof(V)) : "memory");
  if (threadIdx.x < CLUSTER) {
    union { V value; int words[sizeof(V) / 4]; } pun = {value};
    const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + cluster_rank() * sizeof(V);
    unsigned there, arrived;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(threadIdx.x));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(arrived) : "r"(arrival(SLOT)), "r"(threadIdx.x));
#pragma unroll
    for (int word = 0; word < static_cast<int>(sizeof(V) / 4); ++word)
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there + 4 * word),
                   "r"(pun.words[word]), "r"(arrived) : "memory");
  }
  wait_for_phase(arrival(SLOT), 0);
  return reinterpret_cast<const V*>(memory);
}

// Over the blocks of a cluster, each with a value that all of its threads have. Every block combines in the same order.
template <int SLOT, bool IS_FIRST, typename V, typename Op> __device__ __forceinline__ V over_cluster(V value, Op op) {
  if constexpr (CLUSTER > 1) {
    const V* values = of_blocks<SLOT, IS_FIRST>(value);
    value = values[0];
#pragma unroll
    for (int block = 1; block < CLUSTER; ++block) value = op(value, values[block]);
  }
  return value;
}

#ifdef VECTORS

// The lanes of a warp that share a row.
constexpr int LANES = GROUP < 32 ? GROUP : 32;

// Over all warps that share a row, each with a value that all of its lanes have.
template <int SLOT, bool IS_FIRST, typename V, typename Op> __device__ __forceinline__ V over_warps_of_row(V value, Op op) {
  if constexpr (GROUP <= 32) return value;
  else return over_cluster<SLOT, IS_FIRST>(over_warps<GROUP, SLOT>(value, op), op);
}

// Over all threads that share a row.
template <int SLOT, bool IS_FIRST, typename V, typename Op> __device__ __forceinline__ V over_row(V value, Op op) {
  return over_warps_of_row<SLOT, IS_FIRST>(over_lanes<LANES>(value, op), op);
}

// Where a thread's part of a row is: vectors of W columns, of which the first starts before column 0 where the row does
// not start at a multiple of W.
struct Row {
  long long at;     // the row's first element, of all
  int columns;
  int start;        // the column of vector 0, up to zero

  __device__ __forceinline__ Row(long long row, int columns) : at(row * columns), columns(columns), start(0) {
    if constexpr (!ALIGNED) start = -static_cast<int>(at % W);
  }

  // The first column of this thread's vector number `vector`.
  __device__ __forceinline__ int column(int vector) const {
    int index = vector * GROUP + threadIdx.x % GROUP;
    if constexpr (CLUSTER > 1) index += cluster_rank() * (VECTORS * GROUP);
    return start + index * W;
  }

  __device__ __forceinline__ bool holds(int column) const { return column >= 0 && column < columns; }

  // Whether any column of the vector at `column` is the row's.
  __device__ __forceinline__ bool touches(int column) const { return column < columns; }

  // The vector at `column`. What is not the row's may be anything: its neighbours, or what is behind the tensor, whose memory
  // goes on to a multiple of 16 bytes.
  template <typename E> __device__ __forceinline__ Vector<E, W> load(const E* from, int column) const {
    return *reinterpret_cast<const Vector<E, W>*>(from + at + column);
  }

  template <typename E> __device__ __forceinline__ Held<E> load_words(const E* from, int column) const {
    return *reinterpret_cast<const Held<E>*>(from + at + column);
  }

  template <typename E> __device__ __forceinline__ void store(E* to, int column, const Vector<E, W>& vector) const {
    if (ALIGNED || (column >= 0 && column + W <= columns)) {
      *reinterpret_cast<Vector<E, W>*>(to + at + column) = vector;
    } else {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (holds(column + lane)) to[at + column + lane] = vector.at[lane];
    }
  }

  // The elements for the columns from `column` on of one that all rows share, or a number of rows.
  template <typename E> __device__ __forceinline__ Vector<E, W> parameter(const E* from, int column) const {
    if constexpr (ALIGNED) return *reinterpret_cast<const Vector<E, W>*>(from + column);
    Vector<E, W> vector = {};
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (holds(column + lane)) vector.at[lane] = from[column + lane];
    return vector;
  }
};

// The row of this thread's group.
__device__ __forceinline__ long long row_of_group() {
  if constexpr (GROUP <= 32) return static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / GROUP;
  else return blockIdx.x / CLUSTER;
}

#endif

#endif
