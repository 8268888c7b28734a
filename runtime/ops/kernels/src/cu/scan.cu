// Running reductions along one axis.
//
// ELEMENT            of x and y
// STATE              which of the states below
// PLACE              an integer that counts along the axis
// PLACED             1: the places are an output as well
// LOGARITHMS         1: STATE is `LogSums`
// LONG               1: the axis is cut into chunks, whose carries are computed first
// TOTALS             1: the chunks' totals are computed, and nothing else
//
// `scan_rows`: the last axis (row.cuh). `scan_columns`: another axis; a block walks down TX neighbouring columns, of which it
// takes PARTS parts of HOLD elements at once, a multiple of 32 parts. `scan_carries`: what is before each chunk.

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
  static __device__ __forceinline__ Greater of(T x, PLACE at) { return {at, static_cast<A>(x)}; }
  __device__ __forceinline__ Greater then(Greater b) const {
    return b.place >= 0 && (b.best >= best || b.best != b.best) ? b : *this;
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

// The vectors' states of a row that a thread has part of: those before each of its vectors, and that of all.
template <typename S, typename E> __device__ __forceinline__ S states_before(
    const Row& row, const Vector<E, W> (&held)[VECTORS], const int (&column)[VECTORS], S (&before)[VECTORS]) {
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    S total = S::neutral();
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (ALIGNED ? row.touches(column[v]) : row.holds(column[v] + lane)) total = total.then(S::of(held[v].at[lane], column[v] + lane));
    before[v] = up_to_lane<LANES>(total);
  }
  S all = S::neutral();
  if constexpr (GROUP > 32) {
    // Warps' totals, turn by turn: before each.
    __shared__ __align__(16) unsigned char memory[VECTORS * WARPS * sizeof(S)];
    S* totals = reinterpret_cast<S*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
      if (lane == 31) totals[v * WARPS + warp] = before[v];
    __syncthreads();
    // Each warp folds what it needs: all of them up to its own.
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      const S of_turn = up_to_lane<32>(lane < WARPS ? totals[v * WARPS + lane] : S::neutral());
      const S prior = from_lane<32>(of_turn, warp > 0 ? warp - 1 : 0);
      S of_lanes = from_below(before[v], 1);
      if (lane == 0) of_lanes = S::neutral();
      before[v] = all.then(warp > 0 ? prior : S::neutral()).then(of_lanes);
      all = all.then(from_lane<32>(of_turn, 31));
    }
  } else {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      S of_lanes = from_below(before[v], 1);
      if (threadIdx.x % LANES == 0) of_lanes = S::neutral();
      const S of_turn = from_lane<LANES>(before[v], LANES - 1);
      before[v] = all.then(of_lanes);
      all = all.then(of_turn);
    }
  }
  return all;
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
    if (row.touches(column[v])) {
      S state = carry.then(before[v]);
      Vector<T, W> out;
      convert_anew(held[v]);
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        if (ALIGNED || row.holds(column[v] + lane)) {
          state = state.then(S::of(held[v].at[lane], column[v] + lane));
          out.at[lane] = rounded(result(state));
#if PLACED
          places[row.at + column[v] + lane] = state.place;
#endif
        }
      }
      row.store(y, column[v], out);
    }
  }
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
scan_rows(const T* x, T* y, long long* places, State* carries, int columns, long long rows, int chunks) {
  cluster_started();
  // A chunk of a long row is as far from its start as it would be in a cluster of so many blocks.
  const int chunk = LONG ? blockIdx.x % chunks : 0;
  const long long which = LONG ? blockIdx.x / chunks : row_of_group();
  const Row row(which < rows ? which : rows - 1, columns);
  Vector<T, W> held[VECTORS];
  int column[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    column[v] = row.column(v + chunk * VECTORS);
    if (row.touches(column[v])) held[v] = row.load(x, column[v]);
  }
#if LOGARITHMS && !LONG
  const float first = to_float(x[row.at]);
  float maximum = -INFINITY;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (ALIGNED ? row.touches(column[v]) : row.holds(column[v] + lane)) maximum = fmaxf(maximum, to_float(held[v].at[lane]));
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
    const auto carry = state_before_block<1, false>(states_before(row, powers, column, before));
    if (which >= rows) return;
    const float from = maximum - base.lost(maximum) * LN2;
    store_states(row, powers, column, carry, before, y, places,
                 [=](Added<float> sum) { return LogSums::log(from, sum.sum); });
    return;
  }
#endif
  State before[VECTORS];
  const State all = states_before(row, held, column, before);
#if LONG
  State carry = State::neutral();
  if constexpr (TOTALS) {
    if (threadIdx.x == 0) carries[which * chunks + chunk] = all;
    return;
  }
  carry = carries[which * chunks + chunk];
#else
  const State carry = state_before_block<2, !LOGARITHMS>(all);
#endif
  if (which >= rows) return;
  store_states(row, held, column, carry, before, y, places, [](State state) { return state.value(); });
}

#endif

#ifdef TX

constexpr int TILE = PARTS * HOLD;
// A warp scans the parts of a column: so many a lane.
constexpr int FOLDED = PARTS / 32;

// A run of HOLD elements, of which `many` are there.
struct Run {
  T at[HOLD];
  int many;

  __device__ __forceinline__ void load(const T* from, long long stride, long long left) {
    many = static_cast<int>(min(max(left, 0ll), static_cast<long long>(HOLD)));
#pragma unroll
    for (int element = 0; element < HOLD; ++element)
      if (element < many) at[element] = from[element * stride];
  }

  // Negative infinity where there is nothing.
  __device__ __forceinline__ float logarithm(int element) const { return element < many ? to_float(at[element]) : -INFINITY; }

  __device__ __forceinline__ State state(PLACE top) const {
#if LOGARITHMS
    State state = State::neutral();
#pragma unroll
    for (int element = 0; element < HOLD; ++element) state.maximum = fmaxf(state.maximum, logarithm(element));
    const Base base(state.maximum);
#pragma unroll
    for (int element = 0; element < HOLD; ++element) state.sum += base.power(logarithm(element));
    state.sum *= two_to(-base.lost(state.maximum));
    return state;
#else
    State state = State::neutral();
#pragma unroll
    for (int element = 0; element < HOLD; ++element)
      if (element < many) state = state.then(State::of(at[element], top + element));
    return state;
#endif
  }
};

extern "C" __global__ void __launch_bounds__(TX * PARTS, 1024 / (TX * PARTS))
scan_columns(const T* x, T* y, long long* places, State* carries, long long length, long long inner, int chunks) {
  const int lane = threadIdx.x % TX, part = threadIdx.x / TX;
  const unsigned blocks = static_cast<unsigned>((inner + TX - 1) / TX);
  const unsigned chunk = LONG ? blockIdx.x % chunks : 0, block = LONG ? blockIdx.x / chunks : blockIdx.x;
  const long long column = block % blocks * static_cast<long long>(TX) + lane, outer = block / blocks;
  const bool exists = column < inner;
  const long long share = LONG ? ((length + TILE - 1) / TILE + chunks - 1) / chunks * TILE : length;
  const long long end = exists ? min(length, (chunk + 1) * share) : 0, first = outer * length * inner + column;
  State* of_chunk = carries + (outer * chunks + chunk) * inner + column;
  State running = LONG && !TOTALS && exists ? *of_chunk : State::neutral();

  // The parts' states, then what is before each; in turns, so that the next ones need not wait for who still reads these.
  __shared__ __align__(16) unsigned char memory[2 * (PARTS + 1) * (TX + 1) * sizeof(State)];
  State(*states)[PARTS + 1][TX + 1] = reinterpret_cast<State(*)[PARTS + 1][TX + 1]>(memory);

  Run run, next;
  next.load(x + first + (chunk * share + part * HOLD) * inner, inner, end - chunk * share - part * HOLD);
  int turn = 0;
  for (long long tile = chunk * share; tile < min(length, (chunk + 1) * share); tile += TILE, turn ^= 1) {
    const long long top = tile + part * HOLD;
    run = next;
    next.load(x + first + (top + TILE) * inner, inner, end - top - TILE);
    states[turn][part][lane] = run.state(static_cast<PLACE>(top));
    __syncthreads();
    if (threadIdx.x < 32 * TX) {
      const int of_column = threadIdx.x / 32, of_part = threadIdx.x % 32 * FOLDED;
      State parts[FOLDED], all = State::neutral();
#pragma unroll
      for (int at = 0; at < FOLDED; ++at) {
        parts[at] = states[turn][of_part + at][of_column];
        all = all.then(parts[at]);
      }
      // A lane's last state takes the place of the next lane's first, which has been read.
      __syncwarp();
      State before = from_below(up_to_lane<32>(all), 1);
      if (of_part == 0) before = State::neutral();
#pragma unroll
      for (int at = 0; at < FOLDED; ++at) {
        before = before.then(parts[at]);
        states[turn][of_part + at + 1][of_column] = before;
      }
    }
    __syncthreads();
    State state = part > 0 ? running.then(states[turn][part][lane]) : running;
    running = running.then(states[turn][PARTS][lane]);
    if constexpr (TOTALS) continue;
    T* to = y + first + top * inner;
#if LOGARITHMS
    float maximum = state.maximum;
#pragma unroll
    for (int element = 0; element < HOLD; ++element) maximum = fmaxf(maximum, run.logarithm(element));
    if (is_near(fmaxf(state.maximum, run.logarithm(0)), maximum)) {
      const Base base(maximum);
      float sum = state.sum * base.power(state.maximum);
      const float from = maximum - base.lost(maximum) * LN2;
#pragma unroll
      for (int element = 0; element < HOLD; ++element) {
        if (element < run.many) {
          sum += base.power(to_float(run.at[element]));
          to[element * inner] = rounded(LogSums::log(from, sum));
        }
      }
      continue;
    }
#endif
#pragma unroll
    for (int element = 0; element < HOLD; ++element) {
      if (element < run.many) {
        state = state.then(State::of(run.at[element], static_cast<PLACE>(top + element)));
        to[element * inner] = rounded(state.value());
#if PLACED
        places[first + (top + element) * inner] = state.place;
#endif
      }
    }
  }
  if (TOTALS && exists && part == 0) *of_chunk = running;
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
