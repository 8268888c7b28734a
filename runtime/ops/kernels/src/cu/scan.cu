// Running reductions along one axis.
//
// ELEMENT            of x and y
// STATE              which of the states below
// LONG               1: an axis longer than a cluster's blocks hold is cut into chunks, whose carries are computed first
// TOTALS             1: the chunks' totals are computed, and nothing else
//
// `scan_rows`: the last axis (row.cuh). `scan_columns`: another axis; a block has TX lanes of WIDTH neighbouring columns, TY
// parts of the axis, each HOLD elements long. `scan_carries`: what is before each chunk.

using T = ELEMENT;

// A state has: nothing yet (`neutral`), one element (`of`), another's behind it (`then`), and what is stored (`store`).
template <typename A> struct Added {
  A sum;
  static __device__ __forceinline__ Added neutral() { return {A(0)}; }
  static __device__ __forceinline__ Added of(T x, long long) { return {static_cast<A>(x)}; }
  __device__ __forceinline__ Added then(Added b) const { return {sum + b.sum}; }
  __device__ __forceinline__ A value() const { return sum; }
};
using Sums = Added<float>;
using WholeSums = Added<ELEMENT>;

template <typename A> struct Multiplied {
  A product;
  static __device__ __forceinline__ Multiplied neutral() { return {A(1)}; }
  static __device__ __forceinline__ Multiplied of(T x, long long) { return {static_cast<A>(x)}; }
  __device__ __forceinline__ Multiplied then(Multiplied b) const { return {product * b.product}; }
  __device__ __forceinline__ A value() const { return product; }
};
using Products = Multiplied<float>;
using WholeProducts = Multiplied<ELEMENT>;

// The greatest and its place, the last of several. What is not a number is above all.
template <typename A> struct Greater {
  long long place;
  A best;
  int exists;
  static __device__ __forceinline__ Greater neutral() { return {0, A(0), 0}; }
  static __device__ __forceinline__ Greater of(T x, long long at) { return {at, static_cast<A>(x), 1}; }
  __device__ __forceinline__ Greater then(Greater b) const {
    const bool better = b.best != b.best || (best == best && b.best >= best);
    return b.exists && (!exists || better) ? b : *this;
  }
  __device__ __forceinline__ A value() const { return best; }
};
using Maxima = Greater<float>;
using WholeMaxima = Greater<int>;

// log(sum(exp(x))): the greatest, and the sum of exp(x - greatest). With nothing but negative infinities the sum is measured
// from zero, and is zero; a positive one leaves nothing else, and is the result. What is not a number stays in the sum.
struct LogSums {
  float maximum, sum;
  static __device__ __forceinline__ float power(float x) { return two_to(x * LOG2E); }
  static __device__ __forceinline__ LogSums neutral() { return {-INFINITY, 0.f}; }
  static __device__ __forceinline__ LogSums of(T x, long long) {
    const float value = to_float(x);
    return {value == value ? value : -INFINITY, value == -INFINITY ? 0.f : value == INFINITY ? 1.f : value - value + 1.f};
  }
  __device__ __forceinline__ LogSums then(LogSums b) const {
    const float greatest = fmaxf(maximum, b.maximum);
    // Differences of infinities are no numbers: equal maxima are no distance apart.
    const float own = maximum == greatest ? sum : sum * power(maximum - greatest);
    const float other = b.maximum == greatest ? b.sum : b.sum * power(b.maximum - greatest);
    return {greatest, own + other};
  }
  __device__ __forceinline__ float value() const { return maximum + logf(sum); }
};

using State = STATE;
static_assert(sizeof(State) <= 16, "what a planner makes room for");

struct Then {
  static __device__ __forceinline__ State neutral() { return State::neutral(); }
  __device__ __forceinline__ State operator()(State a, State b) const { return a.then(b); }
};

__device__ __forceinline__ T rounded(float x) { return from_float<T>(x); }
__device__ __forceinline__ T rounded(int x) { return static_cast<T>(x); }
__device__ __forceinline__ T rounded(long long x) { return static_cast<T>(x); }

// The value that the lane `below` lanes below has; its own where there is none.
__device__ __forceinline__ State from_below(State value, int below) {
  static_assert(sizeof(State) % 4 == 0, "whole words");
  union { State value; int words[sizeof(State) / 4]; } pun = {value};
#pragma unroll
  for (int word = 0; word < static_cast<int>(sizeof(State) / 4); ++word)
    pun.words[word] = __shfl_up_sync(0xffffffffu, pun.words[word], below);
  return pun.value;
}

// Over the lanes up to each one.
template <int SPAN> __device__ __forceinline__ State up_to_lane(State value) {
  const int lane = threadIdx.x % SPAN;
#pragma unroll
  for (int below = 1; below < SPAN; below *= 2) {
    const State before = from_below(value, below);
    if (lane >= below) value = before.then(value);
  }
  return value;
}

#ifdef GROUP

constexpr int WARPS = GROUP > 32 ? GROUP / 32 : 1;

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
scan_rows(const T* x, T* y, long long* places, State* carries, int columns, long long rows, int chunks) {
  cluster_started();
  // A chunk of a long row is as far from its start as it would be in a cluster of so many blocks.
  const int chunk = LONG ? blockIdx.x % chunks : 0;
  const long long which = LONG ? blockIdx.x / chunks : row_of_group();
  const Row row(which < rows ? which : rows - 1, columns);
  const auto column_of = [&](int v) { return row.column(v + chunk * VECTORS); };
  Vector<T, W> held[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    if (row.touches(column_of(v))) held[v] = row.load(x, column_of(v));
  State before[VECTORS];  // what is before this thread's vector in its turn, then in all
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    State total = State::neutral();
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (row.holds(column_of(v) + lane)) total = total.then(State::of(held[v].at[lane], column_of(v) + lane));
    before[v] = up_to_lane<LANES>(total);
  }
  State all = State::neutral();
  if constexpr (GROUP > 32) {
    // Warps' totals, turn by turn: before each.
    __shared__ __align__(16) unsigned char memory[VECTORS * WARPS * sizeof(State)];
    State* totals = reinterpret_cast<State*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
      if (lane == 31) totals[v * WARPS + warp] = before[v];
    __syncthreads();
    // Each warp folds what it needs: all of them up to its own.
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const State of_turn = up_to_lane<32>(lane < WARPS ? totals[v * WARPS + lane] : State::neutral());
      // The lane of the warp before this one has what is before it.
      union { State value; int words[sizeof(State) / 4]; } prior = {of_turn}, whole = {of_turn};
#pragma unroll
      for (int word = 0; word < static_cast<int>(sizeof(State) / 4); ++word) {
        prior.words[word] = __shfl_sync(0xffffffffu, prior.words[word], warp > 0 ? warp - 1 : 0);
        whole.words[word] = __shfl_sync(0xffffffffu, whole.words[word], 31);
      }
      State of_lanes = from_below(before[v], 1);
      if (lane == 0) of_lanes = State::neutral();
      before[v] = all.then(warp > 0 ? prior.value : State::neutral()).then(of_lanes);
      all = all.then(whole.value);
    }
  } else {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      union { State value; int words[sizeof(State) / 4]; } whole = {before[v]};
#pragma unroll
      for (int word = 0; word < static_cast<int>(sizeof(State) / 4); ++word)
        whole.words[word] = __shfl_sync(0xffffffffu, whole.words[word], LANES - 1, LANES);
      State of_lanes = from_below(before[v], 1);
      if (threadIdx.x % LANES == 0) of_lanes = State::neutral();
      before[v] = all.then(of_lanes);
      all = all.then(whole.value);
    }
  }
  State carry = State::neutral();
  if constexpr (LONG) {
    if constexpr (TOTALS) {
      if (threadIdx.x == 0) carries[which * chunks + chunk] = all;
      return;
    }
    carry = carries[which * chunks + chunk];
  }
  if constexpr (CLUSTER > 1) {
    const State* totals = of_blocks<0, true>(all);
    for (unsigned block = 0; block < cluster_rank(); ++block) carry = carry.then(totals[block]);
  }
  if (which >= rows) return;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = column_of(v);
    if (row.touches(column)) {
      State state = carry.then(before[v]);
      Vector<T, W> out;
      convert_anew(held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        if (row.holds(column + lane)) {
          state = state.then(State::of(held[v].at[lane], column + lane));
          out.at[lane] = rounded(state.value());
#if PLACED
          places[row.at + column + lane] = state.place;
#endif
        }
      }
      row.store(y, column, out);
    }
  }
}

#endif

#ifdef TX

// `CLUSTER` blocks, or chunks, share an axis.
extern "C" __global__ void IN_CLUSTERS __launch_bounds__(TX * TY)
scan_columns(const T* x, T* y, long long* places, State* carries, long long length, long long inner, int chunks) {
  cluster_started();
  const unsigned blocks = static_cast<unsigned>((inner + TX * W - 1) / (TX * W));
  const unsigned parts = LONG ? chunks : CLUSTER, chunk = blockIdx.x % parts, block = blockIdx.x / parts;
  const long long column = block % blocks * static_cast<long long>(TX * W) + threadIdx.x * W, outer = block / blocks;
  const bool exists = column < inner;
  const long long top = (static_cast<long long>(chunk) * TY + threadIdx.y) * HOLD;
  const long long first = outer * length * inner + column;
  Vector<T, W> held[HOLD];
#pragma unroll
  for (int at = 0; at < HOLD; ++at)
    if (exists && top + at < length) held[at] = *reinterpret_cast<const Vector<T, W>*>(x + first + (top + at) * inner);
  State states[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) states[lane] = State::neutral();
#pragma unroll
  for (int at = 0; at < HOLD; ++at) {
    if (exists && top + at < length) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) states[lane] = states[lane].then(State::of(held[at].at[lane], top + at));
    }
  }
  // The parts' totals; then what is before each part, and the block's total behind the last one.
  __shared__ __align__(16) unsigned char memory[(TY + 1) * TX * W * sizeof(State)];
  State* totals = reinterpret_cast<State*>(memory);
#pragma unroll
  for (int lane = 0; lane < W; ++lane) totals[(threadIdx.y * W + lane) * TX + threadIdx.x] = states[lane];
  __syncthreads();
  for (int mine = threadIdx.y * TX + threadIdx.x; mine < TX * W; mine += TX * TY) {
    State before = State::neutral();
    for (int part = 0; part < TY; ++part) {
      const State of_part = totals[part * TX * W + mine];
      totals[part * TX * W + mine] = before;
      before = before.then(of_part);
    }
    totals[TY * TX * W + mine] = before;
  }
  __syncthreads();
#pragma unroll
  for (int lane = 0; lane < W; ++lane) {
    const int mine = lane * TX + threadIdx.x;
    State carry = State::neutral();
    if constexpr (LONG) {
      if (exists) {
        State& of_chunk = carries[(outer * chunks + chunk) * inner + column + lane];
        if constexpr (TOTALS) {
          if (threadIdx.y == 0) of_chunk = totals[TY * TX * W + mine];
        } else {
          carry = of_chunk;
        }
      }
    }
    states[lane] = carry;
  }
  if constexpr (TOTALS) return;
  if constexpr (CLUSTER > 1) {
    cluster_wait();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    for (unsigned rank = 0; rank < chunk; ++rank) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        const unsigned here = static_cast<unsigned>(
            __cvta_generic_to_shared(&totals[TY * TX * W + lane * TX + threadIdx.x]));
        unsigned there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
        union { State value; int words[sizeof(State) / 4]; } pun = {State::neutral()};
#pragma unroll
        for (int word = 0; word < static_cast<int>(sizeof(State) / 4); ++word)
          asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(pun.words[word]) : "r"(there + 4 * word));
        states[lane] = states[lane].then(pun.value);
      }
    }
    // A block whose memory is still read does not end.
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  }
#pragma unroll
  for (int lane = 0; lane < W; ++lane)
    states[lane] = states[lane].then(totals[(threadIdx.y * W + lane) * TX + threadIdx.x]);
#pragma unroll
  for (int at = 0; at < HOLD; ++at) {
    if (exists && top + at < length) {
      Vector<T, W> out;
#if PLACED
      Vector<long long, W> out_places;
#endif
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        states[lane] = states[lane].then(State::of(held[at].at[lane], top + at));
        out.at[lane] = rounded(states[lane].value());
#if PLACED
        out_places.at[lane] = states[lane].place;
#endif
      }
      *reinterpret_cast<Vector<T, W>*>(y + first + (top + at) * inner) = out;
#if PLACED
      *reinterpret_cast<Vector<long long, W>*>(places + first + (top + at) * inner) = out_places;
#endif
    }
  }
}

#endif

// Chunks' totals become what is before them. `lines` are rows, or the columns of all outer axes.
extern "C" __global__ void __launch_bounds__(256)
scan_carries(State* carries, long long lines, long long inner, int chunks) {
  const long long line = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (line >= lines) return;
  State before = State::neutral();
  for (int chunk = 0; chunk < chunks; ++chunk) {
    State& at = carries[(line / inner * chunks + chunk) * inner + line % inner];
    const State of_chunk = at;
    at = before;
    before = before.then(of_chunk);
  }
}
