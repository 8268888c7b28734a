// Running reductions along one axis.
//
// ELEMENT            of x and y
// STATE              which of the states below
// PLACE              an integer that counts along the axis
// PLACED             1: the places are an output as well
// LOGARITHMS         1: STATE is `LogSums`
// LONG               1: the axis is cut into chunks, whose carries are computed first
// TOTALS             1: the chunks' totals are computed, and nothing else
// WHOLE              1: every tile is whole, of elements that are there (`scan_columns`)
// FULL               1: the threads of a row hold nothing but that row (`scan_rows`)
//
// `scan_rows`: the last axis (row.cuh). `scan_columns`: another axis; a block walks down TX neighbouring columns. Its TEAMS teams
// take turns at tiles, of PARTS parts of HOLD elements of each column: while one exchanges, another one loads and stores. All
// are powers of two. A multiprocessor has registers for RESIDENT threads. `scan_carries`: what is before each chunk.

using T = ELEMENT;

// A state has: nothing yet (`neutral`), one element (`of`), another's behind it (`then`), and what is stored (`value`).
template <typename A> struct Added {
  A sum;
  static __device__ __forceinline__ Added neutral() { return {A(0)}; }
  template <typename E> static __device__ __forceinline__ Added of(E x, PLACE) { return {static_cast<A>(x)}; }
  __device__ __forceinline__ Added then(Added b) const { return {sum + b.sum}; }
  __device__ __forceinline__ A value() const { return sum; }
};
using Sums = Added<float>;
using WholeSums = Added<ELEMENT>;

template <typename A> struct Multiplied {
  A product;
  static __device__ __forceinline__ Multiplied neutral() { return {A(1)}; }
  static __device__ __forceinline__ Multiplied of(T x, PLACE) { return {static_cast<A>(x)}; }
  __device__ __forceinline__ Multiplied then(Multiplied b) const { return {product * b.product}; }
  __device__ __forceinline__ A value() const { return product; }
};
using Products = Multiplied<float>;
using WholeProducts = Multiplied<ELEMENT>;

template <typename A> __device__ __forceinline__ A lowest() { return A(-0x7fffffff - 1); }
template <> __device__ __forceinline__ float lowest<float>() { return -INFINITY; }

// The greatest and its place, the last of several. What is not a number is above all. Nothing yet has no place.
template <typename A> struct Greater {
  PLACE place;
  A best;
  static __device__ __forceinline__ Greater neutral() { return {-1, lowest<A>()}; }
  static __device__ __forceinline__ Greater of(T x, PLACE at) {
    __builtin_assume(at >= 0);
    return {at, static_cast<A>(x)};
  }
  __device__ __forceinline__ Greater then(Greater b) const {
    const bool is_later = (b.place >= 0) & ((b.best >= best) | (b.best != b.best));
    return {is_later ? b.place : place, is_later ? b.best : best};
  }
  __device__ __forceinline__ A value() const { return best; }
};
using Maxima = Greater<float>;
using WholeMaxima = Greater<int>;

// log(sum(exp(x))): the greatest, and the sum of exp(x - greatest). With nothing but negative infinities the sum is measured
// from zero, and is zero; a positive one leaves nothing else, and is the result. What is not a number stays in the sum.
struct LogSums {
  float maximum, sum;
  static __device__ __forceinline__ LogSums neutral() { return {-INFINITY, 0.f}; }
  static __device__ __forceinline__ LogSums of(T x, PLACE) {
    const float value = to_float(x);
    return {value == value ? value : -INFINITY, value == -INFINITY ? 0.f : value == INFINITY ? 1.f : value - value + 1.f};
  }
  __device__ __forceinline__ LogSums then(LogSums b) const {
    // What has the smaller maximum is made as small. Differences of infinities are no numbers: equal maxima are no distance apart.
    const float factor = maximum == b.maximum ? 1.f : two_to(-fabsf(maximum - b.maximum) * LOG2E);
    const bool own = maximum > b.maximum;
    return {own ? maximum : b.maximum, own ? fmaf(b.sum, factor, sum) : fmaf(sum, factor, b.sum)};
  }
  // Sums are normal numbers or zero.
  static __device__ __forceinline__ float log(float maximum, float sum) { return fmaf(log2_of(sum), LN2, maximum); }
  __device__ __forceinline__ float value() const { return log(maximum, sum); }
};

// A running sum of exp(x - maximum), which costs an addition an element, is as good as states that know their own maxima where
// its first element is not below the maximum by more than this. The others only add to that one: 2^-96 is above what is lost
// by so much, for powers of two are normal down to 2^-126, that a single-precision sum would not hold it either.
constexpr float NEAR = 96.f * LN2;

__device__ __forceinline__ bool is_near(float first, float maximum) { return first >= maximum - NEAR && maximum < INFINITY; }

using State = STATE;
static_assert(sizeof(State) <= 16, "what a planner makes room for");

__device__ __forceinline__ T rounded(float x) { return from_float<T>(x); }
__device__ __forceinline__ T rounded(int x) { return static_cast<T>(x); }
__device__ __forceinline__ T rounded(long long x) { return static_cast<T>(x); }

// The value that the lane `below` lanes below has; its own where there is none.
template <typename S> __device__ __forceinline__ S from_below(S value, int below) {
  return by_words(value, [=](int word) { return __shfl_up_sync(0xffffffffu, word, below); });
}

// The value that a lane of the SPAN neighbouring ones has.
template <int SPAN, typename S> __device__ __forceinline__ S from_lane(S value, int lane) {
  return by_words(value, [=](int word) { return __shfl_sync(0xffffffffu, word, lane, SPAN); });
}

// Over the lanes up to each one.
template <int SPAN, typename S> __device__ __forceinline__ S up_to_lane(S value) {
  const int lane = threadIdx.x % SPAN;
#pragma unroll
  for (int below = 1; below < SPAN; below *= 2) {
    const S before = from_below(value, below);
    if (lane >= below) value = before.then(value);
  }
  return value;
}

#ifdef GROUP

constexpr int WARPS = GROUP > 32 ? GROUP / 32 : 1;

// The first column of a thread's vector. A warp's vectors are neighbours: what is before a warp is before all of them.
__device__ __forceinline__ int column_of(const Row& row, int vector, int chunk) {
  const int before_warp = GROUP > 32 ? threadIdx.x / 32 * (VECTORS - 1) : 0;
  return row.column(chunk * VECTORS) + (before_warp + vector) * LANES * W;
}

// Of a row that a block has part of: what is before a warp, and what is behind all.
template <typename S> struct Around { S before, all; };

// The same; and `before` is what is before each of a thread's vectors within its warp.
template <typename S, typename E> __device__ __forceinline__ Around<S> states_before(
    const Row& row, const Vector<E, W> (&held)[VECTORS], const int (&column)[VECTORS], S (&before)[VECTORS]) {
  S all = S::neutral();
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    S total = S::neutral();
    if constexpr (ALIGNED) {
      if (FULL || row.touches(column[v])) {
        total = S::of(held[v].at[0], column[v]);
#pragma unroll
        for (int lane = 1; lane < W; ++lane) total = total.then(S::of(held[v].at[lane], column[v] + lane));
      }
    } else {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (row.holds(column[v] + lane)) total = total.then(S::of(held[v].at[lane], column[v] + lane));
    }
    total = up_to_lane<LANES>(total);
    S of_lanes = from_below(total, 1);
    if (threadIdx.x % LANES == 0) of_lanes = S::neutral();
    const S of_turn = from_lane<LANES>(total, LANES - 1);
    before[v] = v > 0 ? all.then(of_lanes) : of_lanes;
    all = v > 0 ? all.then(of_turn) : of_turn;
  }
  if constexpr (GROUP > 32) {
    __shared__ __align__(16) unsigned char memory[WARPS * sizeof(S)];
    S* totals = reinterpret_cast<S*>(memory);
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 31) totals[warp] = all;
    __syncthreads();
    // Beyond the span the lanes go around.
    constexpr int SPAN = WARPS > 16 ? 32 : WARPS > 8 ? 16 : WARPS > 4 ? 8 : WARPS > 2 ? 4 : 2;
    const int lane = threadIdx.x % SPAN;
    const S of_warps = up_to_lane<SPAN>(lane < WARPS ? totals[lane] : S::neutral());
    const S prior = from_lane<SPAN>(of_warps, warp > 0 ? warp - 1 : 0);
    return {warp > 0 ? prior : S::neutral(), from_lane<SPAN>(of_warps, WARPS - 1)};
  } else {
    return {S::neutral(), all};
  }
}

// The state before a block of a cluster.
template <int SLOT, bool FIRST, typename S> __device__ __forceinline__ S state_before_block(S all) {
  S before = S::neutral();
  if constexpr (CLUSTER > 1) {
    const S* totals = of_blocks<SLOT, FIRST>(all);
    for (unsigned block = 0; block < cluster_rank(); ++block) before = before.then(totals[block]);
  }
  return before;
}

// What each element's state comes to, by `result`.
template <typename S, typename E, typename Result> __device__ __forceinline__ void store_states(
    const Row& row, Vector<E, W> (&held)[VECTORS], const int (&column)[VECTORS], S carry, const S (&before)[VECTORS], T* y,
    long long* places, Result result) {
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (FULL || row.touches(column[v])) {
      S state = carry.then(before[v]);
      Vector<T, W> out;
#if PLACED
      Vector<long long, W> place;
#endif
      convert_anew(held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        if (ALIGNED || row.holds(column[v] + lane)) {
          state = state.then(S::of(held[v].at[lane], column[v] + lane));
          out.at[lane] = rounded(result(state));
#if PLACED
          place.at[lane] = state.place;
          if constexpr (!ALIGNED) places[row.at + column[v] + lane] = state.place;
#endif
        }
      }
      row.store(y, column[v], out);
#if PLACED
      if constexpr (ALIGNED) store_vector(places + row.at + column[v], place);
#endif
    }
  }
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
scan_rows(const T* x, T* y, long long* places, State* carries, int columns, long long rows, int chunks) {
  cluster_started();
  // A chunk of a long row is as far from its start as it would be in a cluster of so many blocks.
  const int chunk = LONG ? blockIdx.x % chunks : 0;
  const long long which = LONG ? blockIdx.x / chunks : row_of_group();
  // A block's rows may be more than there are, where it has several.
  const bool exists = GROUP > 32 || which < rows;
  const Row row(exists ? which : rows - 1, columns);
  Vector<T, W> held[VECTORS];
  int column[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    column[v] = column_of(row, v, chunk);
    if (FULL || row.touches(column[v])) held[v] = row.load(x, column[v]);
  }
#if LOGARITHMS && !LONG
  const float first = to_float(x[row.at]);
  float maximum = -INFINITY;
  if constexpr (FULL) {
    maximum = extreme<1, false>(held);
  } else {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (ALIGNED ? row.touches(column[v]) : row.holds(column[v] + lane)) maximum = fmaxf(maximum, to_float(held[v].at[lane]));
    }
  }
  maximum = over_row<0, true>(maximum, Greatest());
  // Rows of one warp go one way, for they shuffle together.
  if (__all_sync(0xffffffffu, is_near(first, maximum))) {
    const Base base(maximum);
    Vector<float, W> powers[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) powers[v].at[lane] = base.power(to_float(held[v].at[lane]));
    }
    Added<float> before[VECTORS];
    const auto around = states_before(row, powers, column, before);
    const auto carry = state_before_block<1, false>(around.all).then(around.before);
    if (!exists) return;
    const float from = maximum - base.lost(maximum) * LN2;
    store_states(row, powers, column, carry, before, y, places,
                 [=](Added<float> sum) { return LogSums::log(from, sum.sum); });
    return;
  }
#endif
  State before[VECTORS];
  const auto around = states_before(row, held, column, before);
#if LONG
  State carry = State::neutral();
  if constexpr (TOTALS) {
    if (threadIdx.x == 0) carries[which * chunks + chunk] = around.all;
    return;
  }
  carry = carries[which * chunks + chunk];
#else
  const State carry = state_before_block<2, !LOGARITHMS>(around.all);
#endif
  if (!exists) return;
  store_states(row, held, column, carry.then(around.before), before, y, places, [](State state) { return state.value(); });
}

#endif

#ifdef TX

constexpr int TILE = PARTS * HOLD, TEAM = TX * PARTS;
// So many lanes scan the parts of a column, and so many parts a lane.
constexpr int SPAN = PARTS < 32 ? PARTS : 32, FOLDED = PARTS / SPAN, SCANNING = SPAN * TX;
static_assert(TEAM % 32 == 0 && SCANNING % 32 == 0, "whole warps");

// The threads of a team wait for each other.
__device__ __forceinline__ void team_barrier(int team) {
  if constexpr (TEAMS == 1) __syncthreads();
  else asm volatile("bar.sync %0, %1;" ::"r"(1 + team), "n"(TEAM) : "memory");
}

// A warp of each team scans the same columns. An mbarrier of its own says when it is its turn: for each of the columns a lane of
// the team before arrives there, behind what it handed on.
constexpr int SCANNING_WARPS = SCANNING / 32, COLUMNS_OF_WARP = 32 / SPAN;
__device__ __forceinline__ unsigned turn_of(int team, int warp) {
  __shared__ __align__(8) unsigned long long memory[TEAMS * SCANNING_WARPS];
  return static_cast<unsigned>(__cvta_generic_to_shared(memory)) + (team * SCANNING_WARPS + warp) * 8;
}

// A run's elements that are there, of the column's `left` ones.
__device__ __forceinline__ int many_of(long long left) {
  return WHOLE ? HOLD : static_cast<int>(min(max(left, 0ll), static_cast<long long>(HOLD)));
}

struct Run {
  T at[HOLD];

  __device__ __forceinline__ void load(const T* from, long long stride, int many) {
#pragma unroll
    for (int element = 0; element < HOLD; ++element, from += stride)
      if (element < many) at[element] = *from;
  }

  // Negative infinity where there is nothing.
  __device__ __forceinline__ float logarithm(int element, int many) const {
    return element < many ? to_float(at[element]) : -INFINITY;
  }

  __device__ __forceinline__ State state(PLACE top, int many) const {
    State state = State::neutral();
#pragma unroll
    for (int element = 0; element < HOLD; ++element)
      if (element < many) state = state.then(State::of(at[element], top + element));
    return state;
  }
};

#if LOGARITHMS
// A run's powers, measured from its own maximum.
struct Powers {
  float maximum, at[HOLD];

  __device__ __forceinline__ Powers(const Run& run, int many) : maximum(-INFINITY) {
#pragma unroll
    for (int element = 0; element < HOLD; ++element) maximum = fmaxf(maximum, run.logarithm(element, many));
    const Base base(maximum);
#pragma unroll
    for (int element = 0; element < HOLD; ++element) at[element] = base.power(run.logarithm(element, many));
  }

  __device__ __forceinline__ State state() const {
    float sum = 0.f;
#pragma unroll
    for (int element = 0; element < HOLD; ++element) sum += at[element];
    return {maximum, sum * two_to(-Base(maximum).lost(maximum))};
  }
};
#endif

extern "C" __global__ void __launch_bounds__(TEAMS * TEAM, RESIDENT / (TEAMS * TEAM))
scan_columns(const T* x, T* y, long long* places, State* carries, long long length, long long inner, int chunks) {
  const int team = threadIdx.x / TEAM, thread = threadIdx.x % TEAM, lane = thread % TX, part = thread / TX;
  const unsigned blocks = static_cast<unsigned>((inner + TX - 1) / TX);
  const unsigned chunk = LONG ? blockIdx.x % chunks : 0, block = LONG ? blockIdx.x / chunks : blockIdx.x;
  const long long column = block % blocks * static_cast<long long>(TX) + lane, outer = block / blocks;
  const bool exists = WHOLE || column < inner;
  const long long share = LONG ? ((length + TILE - 1) / TILE + chunks - 1) / chunks * TILE : length;
  const long long start = chunk * share, end = min(length, start + share), first = outer * length * inner + column;
  State* of_chunk = carries + (outer * chunks + chunk) * inner + column;

  // The parts' states, then what is before each; and what is before the tile whose turn it is.
  __shared__ __align__(16) unsigned char memory[(TEAMS * PARTS * (TX + 1) + TX) * sizeof(State)];
  State(*states)[TX + 1] = reinterpret_cast<State(*)[TX + 1]>(memory) + team * PARTS;
  State* carry = reinterpret_cast<State*>(memory) + TEAMS * PARTS * (TX + 1);
  // Of the first team, which has the first turn.
  if (threadIdx.x < TX) carry[lane] = LONG && !TOTALS && exists ? *of_chunk : State::neutral();

  Run run, next;
  constexpr int TURN = TEAMS * TILE;
  const int tiles = start < end ? static_cast<int>((end - start + TILE - 1) / TILE) : 0;
  const long long top = start + team * TILE + part * HOLD;
  long long at = first + top * inner, left = exists ? end - top : 0;
  if (team < tiles) next.load(x + at, inner, many_of(left));
  if constexpr (TEAMS > 1) {
    if (threadIdx.x < TEAMS * SCANNING_WARPS) start_barrier(turn_of(0, threadIdx.x), COLUMNS_OF_WARP);
    __syncthreads();
  }
  for (int tile = team; tile < tiles; tile += TEAMS, at += TURN * inner, left -= TURN) {
    run = next;
    if (tile + TEAMS < tiles) next.load(x + at + TURN * inner, inner, many_of(left - TURN));
    const int many = many_of(left);
    const PLACE place = static_cast<PLACE>(end - left);
#if LOGARITHMS
    const Powers powers(run, many);
    states[part][lane] = powers.state();
#else
    states[part][lane] = run.state(place, many);
#endif
    team_barrier(team);
    if (thread < SCANNING) {
      const int of_column = thread / SPAN, of_part = thread % SPAN * FOLDED;
      State parts[FOLDED], all = State::neutral();
#pragma unroll
      for (int at = 0; at < FOLDED; ++at) {
        parts[at] = states[of_part + at][of_column];
        all = at > 0 ? all.then(parts[at]) : parts[at];
      }
      all = up_to_lane<SPAN>(all);
      State before = from_below(all, 1);
      if (of_part == 0) before = State::neutral();
      // The first team has the first turn, and waits once less.
      if (TEAMS > 1 && tile > 0) wait_for_phase(turn_of(team, thread / 32), (tile / TEAMS - (team == 0)) % 2);
      const State prior = carry[of_column];
      __syncwarp();
      if (thread % SPAN == SPAN - 1) {
        carry[of_column] = prior.then(all);
        if (TEAMS > 1 && tile + 1 < tiles) arrive(turn_of((team + 1) % TEAMS, thread / 32));
      }
      before = prior.then(before);
#pragma unroll
      for (int at = 0; at < FOLDED; ++at) {
        states[of_part + at][of_column] = before;
        before = before.then(parts[at]);
      }
    }
    team_barrier(team);
    if constexpr (TOTALS) continue;
    State state = states[part][lane];
    T* to = y + at;
#if LOGARITHMS
    const float maximum = fmaxf(state.maximum, powers.maximum);
    if (is_near(fmaxf(state.maximum, run.logarithm(0, many)), maximum)) {
      const Base base(maximum);
      const float prior = state.sum * base.power(state.maximum), factor = base.from(powers.maximum);
      const float from = maximum - base.lost(maximum) * LN2;
      float sum = 0.f;
#pragma unroll
      for (int element = 0; element < HOLD; ++element, to += inner) {
        sum += powers.at[element];
        if (element < many) *to = rounded(LogSums::log(from, fmaf(sum, factor, prior)));
      }
      continue;
    }
#endif
#if PLACED
    long long* place_to = places + at;
#endif
#pragma unroll
    for (int element = 0; element < HOLD; ++element, to += inner) {
      if (element < many) {
        state = state.then(State::of(run.at[element], place + element));
        *to = rounded(state.value());
#if PLACED
        *place_to = state.place;
        place_to += inner;
#endif
      }
    }
  }
  if constexpr (TOTALS) {
    __syncthreads();
    if (threadIdx.x < TX && exists) *of_chunk = carry[lane];
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
