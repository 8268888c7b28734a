// Reductions over any axes.
//
// ELEMENT            of x
// FIRST, SECOND      of the outputs
// ACCUMULATOR        which of the accumulators below
// WIDTH              elements of a vector
// INDEX              an integer that counts the elements of x
// PAIRED             1: a second tensor's elements come with those of x
// POWERED(a)         what the magnitude a adds to `Norm`
// ROOTED(sum)        what becomes of `Norm`'s sum
// SMOOTHED           1 where `CrossEntropy` is smoothed
//
// `reduce_rows`: the last axis is reduced. GROUP threads share an output, ROWS outputs a block for groups within a warp, and
// `splits` blocks an output; a thread takes UNROLL vectors at once, which are all of them with AT_ONCE; else it has as many
// under way meanwhile. SEGMENTED: other axes are reduced as well. ALIGNED: segments start at multiples of WIDTH.
// COLUMNS: those of short rows that no vector divides, all of whose vectors are taken at once; 0 of others.
// EXACT: whole vectors, UNROLL of them for each thread of a block that has one output.
// PLAIN: an output's elements lie together, and behind those of the output before. SPLIT: several blocks share an output.
// MIN_BLOCKS: so many blocks are to have registers on a multiprocessor. CLUSTER: the blocks of an output, where these are one.
// `reduce_columns`: the last axis is kept. A block has TX lanes of WIDTH columns, and TY parts of what is reduced; AT_ONCE blocks
// are to have registers on a multiprocessor.
//
// Where several blocks share outputs of `reduce_rows` and are no cluster, the last of an output waits for what the others find;
// there are SPLITS of them at most. Of those of `reduce_columns`, the last to come to its end joins what they have found; COUNTERS
// blocks of columns are split at most.

using T = ELEMENT;

// A place among the elements of x, or up to a vector before them.
template <int BYTES> struct Signed { using Type = long long; };
template <> struct Signed<4> { using Type = int; };
using Column = Signed<sizeof(INDEX)>::Type;

template <typename E> __device__ __forceinline__ bool truth(E x) { return x != E(0); }
template <> __device__ __forceinline__ bool truth<__half>(__half x) { return to_float(x) != 0.f; }
template <> __device__ __forceinline__ bool truth<__nv_bfloat16>(__nv_bfloat16 x) { return to_float(x) != 0.f; }

// Which bytes of the word of lanes from `first` on are lanes of from..to.
__device__ __forceinline__ unsigned inside(int first, int from, int to) {
  const int skip = min(max(from - first, 0), 4), keep = min(max(to - first, 0), 4);
  const unsigned low = keep == 4 ? 0xffffffffu : (1u << 8 * keep) - 1;
  return skip == 4 ? 0 : low >> 8 * skip << 8 * skip;
}

// What an accumulator finishes with.
struct Context {
  FIRST* first;
  SECOND* second;
  long long count;   // elements of an output
  float parameter;
  const T* x;
  const long long* target;
};

// An accumulator has: no elements (`neutral`), one more (`take`: its place among those reduced, and one over how many there
// are with it), a vector of which some belong (`vector`), several whole ones (`vectors`), what another has (`merge`), and an
// output (`finish`).
template <typename Self> struct Taking {
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&at)[N]) {
#pragma unroll
    for (int v = 0; v < N; ++v) static_cast<Self*>(this)->vector(x[v], at[v], 0, W);
  }
  template <typename E>
  __device__ __forceinline__ void vector(const Vector<E, W>& x, long long at, int from, int to) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (lane >= from && lane < to) static_cast<Self*>(this)->take(x.at[lane], at + lane, 0.f);
  }
};

// Numbers as they are stored: from integers as they are, from floats rounded.
template <typename Y> __device__ __forceinline__ Y stored(float x) { return from_float<Y>(x); }
template <typename Y> __device__ __forceinline__ Y stored(double x) { return from_float<Y>(static_cast<float>(x)); }
template <typename Y> __device__ __forceinline__ Y stored(long long x) { return static_cast<Y>(x); }

// The sum of a power of two of numbers, in as few steps as there can be.
template <int N> __device__ __forceinline__ float in_pairs(float (&x)[N]) {
#pragma unroll
  for (int half = N / 2; half > 0; half /= 2) {
#pragma unroll
    for (int at = 0; at < half; ++at) x[at] += x[at + half];
  }
  return x[0];
}

template <bool MEAN> struct Summing : Taking<Summing<MEAN>> {
  float sum;
  static __device__ __forceinline__ Summing neutral() { Summing a; a.sum = 0.f; return a; }
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&)[N]) {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      float numbers[W];
#pragma unroll
      for (int lane = 0; lane < W; ++lane) numbers[lane] = to_float(x[v].at[lane]);
      sum += in_pairs(numbers);
    }
  }
  __device__ __forceinline__ void take(T x, long long, float) { sum += to_float(x); }
  __device__ __forceinline__ void merge(const Summing& b) { sum += b.sum; }
  __device__ __forceinline__ void finish(const Context& c, long long at) const {
    c.first[at] = stored<FIRST>(MEAN ? sum / static_cast<float>(c.count) : sum * c.parameter);
  }
};
using Total = Summing<false>;
using Mean = Summing<true>;

template <typename A> __device__ __forceinline__ A as(T x) {
  if constexpr (sizeof(T) == 8) return static_cast<A>(x);
  else return static_cast<A>(to_float(x));
}

template <typename A> struct Multiplying : Taking<Multiplying<A>> {
  A product;
  static __device__ __forceinline__ Multiplying neutral() { Multiplying a; a.product = A(1); return a; }
  // Vectors' products do not wait for each other.
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&)[N]) {
    A products[N];
#pragma unroll
    for (int v = 0; v < N; ++v) {
      products[v] = as<A>(x[v].at[0]);
#pragma unroll
      for (int lane = 1; lane < W; ++lane) products[v] *= as<A>(x[v].at[lane]);
    }
#pragma unroll
    for (int v = 0; v < N; ++v) product *= products[v];
  }
  __device__ __forceinline__ void take(T x, long long, float) { product *= as<A>(x); }
  __device__ __forceinline__ void merge(const Multiplying& b) { product *= b.product; }
  __device__ __forceinline__ void finish(const Context& c, long long at) const { c.first[at] = stored<FIRST>(product); }
};
// In double precision: factors just above and below one would be rounded to one side.
using Product = Multiplying<double>;
using WholeProduct = Multiplying<long long>;

// The greatest, or with SIGN = -1 the least. What is not a number is above all.
template <int SIGN> struct Extreme : Taking<Extreme<SIGN>> {
  float best;
  static __device__ __forceinline__ Extreme neutral() { Extreme a; a.best = -INFINITY; return a; }
  __device__ __forceinline__ void hold(float x) { best = greater<true>(best, x); }
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&)[N]) {
    hold(extreme<SIGN, true>(x));
  }
  __device__ __forceinline__ void take(T x, long long, float) { hold(SIGN * to_float(x)); }
  __device__ __forceinline__ void merge(const Extreme& b) { hold(b.best); }
  __device__ __forceinline__ void finish(const Context& c, long long at) const { c.first[at] = stored<FIRST>(SIGN * best); }
};
using Most = Extreme<1>;
using Least = Extreme<-1>;

// The place of the first element that equals `number`, or where that is none is none either: there is one.
template <bool IS_NUMBER, typename E, int N>
__device__ __forceinline__ Column first_place_of(float number, const Vector<E, W> (&x)[N], const Column (&at)[N]) {
  Column place = at[0];
  if constexpr (HAS_PAIRS<E> && W % 2 == 0) {
    using P = typename Pair<E>::Type;
    const E element = from_float<E>(number);
    const P same = {element, element};
    // Of a vector's pairs: whether the first is equal in the low bits, whether the second is in the high ones.
    unsigned hits = 0;
#pragma unroll
    for (int v = N - 1; v >= 0; --v) {
      unsigned here = 0;
#pragma unroll
      for (int pair = 0; pair < W / 2; ++pair) {
        const P of = reinterpret_cast<const P*>(&x[v])[pair];
        here |= (IS_NUMBER ? __heq2_mask(of, same) : __hneu2_mask(of, of)) & 0x00010001u << pair;
      }
      hits = here ? here : hits, place = here ? at[v] : place;
    }
    const int pair = __ffs((hits | hits >> 16) & 0xffffu) - 1;
    return place + 2 * pair + (hits >> pair & 1 ? 0 : 1);
  } else {
#pragma unroll
    for (int v = N - 1; v >= 0; --v) {
      int first = W;
#pragma unroll
      for (int lane = W - 1; lane >= 0; --lane) {
        const float element = to_float(x[v].at[lane]);
        first = (IS_NUMBER ? element == number : element != element) ? lane : first;
      }
      place = first < W ? at[v] + first : place;
    }
    return place;
  }
}

// The same with its place, the lowest of several; `VALUE` also gives the number itself, and then it is the first output.
template <int SIGN, bool VALUE> struct Placed : Taking<Placed<SIGN, VALUE>> {
  // Above every place.
  static constexpr Column NOWHERE = sizeof(Column) == 4 ? 0x7fffffff : static_cast<Column>(0x7fffffffffffffffll);
  Column place;
  float best;
  static __device__ __forceinline__ Placed neutral() {
    Placed a; a.place = NOWHERE; a.best = -INFINITY; return a;
  }
  __device__ __forceinline__ void hold(float x, Column at) {
    const bool number = x == x, held = best == best;
    const bool better = number ? held && (x > best || (x == best && at < place)) : held || at < place;
    if (better) { best = x; place = at; }
  }
  // Most vectors have nothing that is better.
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&at)[N]) {
    const float most = extreme<SIGN, true>(x);
    if (most <= best || best != best) return;
    best = most;
    place = most == most ? first_place_of<true>(SIGN * most, x, at) : first_place_of<false>(0.f, x, at);
  }
  // A thread meets its elements in their order, so that of equal ones the first is held already.
  __device__ __forceinline__ void take(T element, long long at, float) {
    const float x = SIGN * to_float(element);
    if (!(x <= best) && best == best) { best = x; place = static_cast<Column>(at); }
  }
  __device__ __forceinline__ void merge(const Placed& b) { hold(b.best, b.place); }
  // Where nothing was above negative infinity, all are that.
  __device__ __forceinline__ long long first_place() const { return place == NOWHERE ? 0 : place; }
  __device__ __forceinline__ void finish(const Context& c, long long at) const {
    if constexpr (VALUE) {
      c.first[at] = stored<FIRST>(SIGN * best);
      c.second[at] = stored<SECOND>(first_place());
    } else {
      c.first[at] = stored<FIRST>(first_place());
    }
  }
};
using PlaceOfMost = Placed<1, false>;
using PlaceOfLeast = Placed<-1, false>;
using MostAndPlace = Placed<1, true>;

// The bits of a word that say whether its elements are zero: a float's sign does not.
template <typename E> constexpr unsigned WORD_OF_VALUES = 0xffffffffu;
template <> constexpr unsigned WORD_OF_VALUES<float> = 0x7fffffffu;
template <> constexpr unsigned WORD_OF_VALUES<__half> = 0x7fff7fffu;
template <> constexpr unsigned WORD_OF_VALUES<__nv_bfloat16> = 0x7fff7fffu;

// Whether any is true; with ALL, whether none is false.
template <bool ALL> struct Truth : Taking<Truth<ALL>> {
  int found;
  static __device__ __forceinline__ Truth neutral() { Truth a; a.found = 0; return a; }
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&at)[N]) {
    if constexpr (sizeof(T) <= 4 && sizeof(T) * W % 4 == 0) {
      // An element of zero, and none else where there is none, borrows from beyond its highest bit.
      constexpr unsigned LOWEST = sizeof(T) == 1 ? 0x01010101u : sizeof(T) == 2 ? 0x00010001u : 1u;
      constexpr unsigned HIGHEST = LOWEST << (8 * sizeof(T) - 1);
      unsigned seen = 0;
#pragma unroll
      for (int v = 0; v < N; ++v) {
#pragma unroll
        for (int at_word = 0; at_word < static_cast<int>(sizeof(T)) * W / 4; ++at_word) {
          const unsigned word = reinterpret_cast<const unsigned*>(&x[v])[at_word] & WORD_OF_VALUES<T>;
          seen |= ALL ? (word - LOWEST) & ~word & HIGHEST : word;
        }
      }
      found |= seen != 0;
    } else {
      Taking<Truth>::vectors(x, at);
    }
  }
  __device__ __forceinline__ void take(T x, long long, float) { found |= truth(x) != ALL; }
  __device__ __forceinline__ void merge(const Truth& b) { found |= b.found; }
  __device__ __forceinline__ void finish(const Context& c, long long at) const { c.first[at] = FIRST((found != 0) != ALL); }
};
using Any = Truth<false>;
using All = Truth<true>;

struct Count : Taking<Count> {
  long long many;
  static __device__ __forceinline__ Count neutral() { Count a; a.many = 0; return a; }
  __device__ __forceinline__ void vector(const Vector<T, W>& x, long long, int from, int to) {
    int here = 0;
    if constexpr (sizeof(T) == 1 && W >= 4) {
      const unsigned* words = reinterpret_cast<const unsigned*>(&x);
#pragma unroll
      for (int word = 0; word < W / 4; ++word)
        here += __popc(__vcmpne4(words[word], 0) & inside(word * 4, from, to)) / 8;
    } else {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (lane >= from && lane < to) here += truth(x.at[lane]);
    }
    many += here;
  }
  __device__ __forceinline__ void take(T x, long long, float) { many += truth(x); }
  __device__ __forceinline__ void merge(const Count& b) { many += b.many; }
  __device__ __forceinline__ void finish(const Context& c, long long at) const { c.first[at] = stored<FIRST>(many); }
};

// The variance, or with ROOT its root; with BOTH also the mean.
template <bool ROOT, bool BOTH> struct Dispersion {
  Moments moments;
  static __device__ __forceinline__ Dispersion neutral() { return {Pooled::neutral()}; }
  __device__ __forceinline__ void take(T x, long long, float inverse) {
    const float distance = to_float(x) - moments.mean;
    moments.many += 1.f;
    moments.mean = fmaf(distance, inverse, moments.mean);
    moments.squares = fmaf(distance, to_float(x) - moments.mean, moments.squares);
  }
  // The mean of a few first, and then the distances from it: no more than registers hold as floats.
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&)[N]) {
    constexpr int FEW = N * W < 16 ? N * W : 16;
#pragma unroll
    for (int first = 0; first < N * W; first += FEW) {
      float sum = 0.f;
#pragma unroll
      for (int element = first; element < first + FEW; ++element) sum += to_float(x[element / W].at[element % W]);
      Moments few = {static_cast<float>(FEW), sum * (1.f / FEW), 0.f};
#pragma unroll
      for (int element = first; element < first + FEW; ++element) {
        const float distance = to_float(x[element / W].at[element % W]) - few.mean;
        few.squares = fmaf(distance, distance, few.squares);
      }
      add(few);
    }
  }
  __device__ __forceinline__ void vector(const Vector<T, W>& x, long long, int from, int to) {
    float sum = 0.f;
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (lane >= from && lane < to) sum += to_float(x.at[lane]);
    Moments of_vector = {static_cast<float>(min(to, W) - max(from, 0)), 0.f, 0.f};
    of_vector.mean = __fdividef(sum, of_vector.many);
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      const float distance = to_float(x.at[lane]) - of_vector.mean;
      if (lane >= from && lane < to) of_vector.squares = fmaf(distance, distance, of_vector.squares);
    }
    add(of_vector);
  }
  __device__ __forceinline__ void add(const Moments& b) { moments = Pooled()(moments, b); }
  __device__ __forceinline__ void merge(const Dispersion& b) { add(b.moments); }
  __device__ __forceinline__ void finish(const Context& c, long long at) const {
    const float count = static_cast<float>(c.count);
    const float variance = moments.squares / fmaxf(count - c.parameter, 0.f);
    c.first[at] = stored<FIRST>(ROOT ? sqrtf(variance) : variance);
    // Where an element was infinite there are no squares, and no mean.
    const bool has_mean = c.count > 0 && moments.squares == moments.squares;
    if constexpr (BOTH) c.second[at] = stored<SECOND>(has_mean ? moments.mean : 0.f / 0.f);
  }
};
using Variance = Dispersion<false, false>;
using Deviation = Dispersion<true, false>;
using VarianceAndMean = Dispersion<false, true>;

#ifdef POWERED
struct Norm : Taking<Norm> {
  float sum;
  static __device__ __forceinline__ Norm neutral() { return {{}, 0.f}; }
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&)[N]) {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      float powers[W];
#pragma unroll
      for (int lane = 0; lane < W; ++lane) {
        const float a = fabsf(to_float(x[v].at[lane]));
        powers[lane] = POWERED(a);
      }
      sum += in_pairs(powers);
    }
  }
  __device__ __forceinline__ void take(T x, long long, float) { const float a = fabsf(to_float(x)); sum += POWERED(a); }
  __device__ __forceinline__ void merge(const Norm& b) { sum += b.sum; }
  __device__ __forceinline__ void finish(const Context& c, long long at) const { c.first[at] = stored<FIRST>(ROOTED(sum)); }
};
#endif

// The greatest magnitude, or with SIGN = -1 the least. Of nothing, zero.
template <int SIGN> struct Magnitude : Taking<Magnitude<SIGN>> {
  float best;
  static __device__ __forceinline__ Magnitude neutral() { Magnitude a; a.best = -INFINITY; return a; }
  __device__ __forceinline__ void hold(float x) { best = greater<true>(best, x); }
  __device__ __forceinline__ void take(T x, long long, float) { hold(SIGN * fabsf(to_float(x))); }
  __device__ __forceinline__ void merge(const Magnitude& b) { hold(b.best); }
  __device__ __forceinline__ void finish(const Context& c, long long at) const {
    c.first[at] = stored<FIRST>(c.count > 0 ? SIGN * best : 0.f);
  }
};
using MostMagnitude = Magnitude<1>;
using LeastMagnitude = Magnitude<-1>;

// log(sum(exp(x))).
struct LogSumExp {
  Mass mass;
  static __device__ __forceinline__ LogSumExp neutral() { return {Mass::neutral()}; }
  __device__ __forceinline__ void take(T x, long long, float) { mass.take(to_float(x)); }
  // One maximum, and one correction of the sum, for all of them.
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&)[N]) {
    const float greatest = fmaxf(mass.maximum, extreme<1, false>(x));
    const Base base(greatest);
    float sum = mass.sum * base.from(mass.maximum);
#pragma unroll
    for (int element = 0; element < N * W; ++element) sum += base.power(to_float(x[element / W].at[element % W]));
    mass = {greatest, sum};
  }
  __device__ __forceinline__ void vector(const Vector<T, W>& x, long long, int from, int to) {
    float greatest = mass.maximum;
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (lane >= from && lane < to) greatest = fmaxf(greatest, to_float(x.at[lane]));
    const Base base(greatest);
    mass.sum *= base.from(mass.maximum);
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (lane >= from && lane < to) mass.sum += base.power(to_float(x.at[lane]));
    mass.maximum = greatest;
  }
  __device__ __forceinline__ void merge(const LogSumExp& b) { mass.merge(b.mass); }
  __device__ __forceinline__ float log() const { return mass.maximum + mass.log_of_sum(); }
  __device__ __forceinline__ void finish(const Context& c, long long at) const { c.first[at] = stored<FIRST>(log()); }
};

// The rows' cross entropies with their targets, smoothed by the parameter.
struct CrossEntropy {
  LogSumExp mass;
  float total;
  static __device__ __forceinline__ CrossEntropy neutral() { return {LogSumExp::neutral(), 0.f}; }
  __device__ __forceinline__ void take(T x, long long at, float inverse) {
    mass.take(x, at, inverse);
    total += to_float(x);
  }
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&at)[N]) {
    mass.vectors(x, at);
#pragma unroll
    for (int v = 0; v < N; ++v) add(x[v], 0, W);
  }
  __device__ __forceinline__ void vector(const Vector<T, W>& x, long long at, int from, int to) {
    mass.vector(x, at, from, to);
    add(x, from, to);
  }
  __device__ __forceinline__ void add(const Vector<T, W>& x, int from, int to) {
#if SMOOTHED
#pragma unroll
    for (int lane = 0; lane < W; ++lane)
      if (lane >= from && lane < to) total += to_float(x.at[lane]);
#endif
  }
  __device__ __forceinline__ void merge(const CrossEntropy& b) {
    mass.merge(b.mass);
    total += b.total;
  }
  __device__ __forceinline__ void finish(const Context& c, long long at) const {
    const float chosen = to_float(c.x[at * c.count + c.target[at]]);
    const float whole = mass.log(), smoothing = c.parameter;
    float loss = whole - chosen;
    if (smoothing != 0.f) loss = (1.f - smoothing) * loss + smoothing * (whole - total / static_cast<float>(c.count));
    c.first[at] = stored<FIRST>(loss);
  }
};

// The place of the greatest, and its log-probability.
struct Likeliest {
  Placed<1, false> best;
  LogSumExp mass;
  static __device__ __forceinline__ Likeliest neutral() { return {Placed<1, false>::neutral(), LogSumExp::neutral()}; }
  __device__ __forceinline__ void take(T x, long long at, float inverse) {
    best.take(x, at, inverse);
    mass.take(x, at, inverse);
  }
  template <int N> __device__ __forceinline__ void vectors(const Vector<T, W> (&x)[N], const Column (&at)[N]) {
    best.vectors(x, at);
    mass.vectors(x, at);
  }
  __device__ __forceinline__ void vector(const Vector<T, W>& x, long long at, int from, int to) {
    best.vector(x, at, from, to);
    mass.vector(x, at, from, to);
  }
  __device__ __forceinline__ void merge(const Likeliest& b) {
    best.merge(b.best);
    mass.merge(b.mass);
  }
  __device__ __forceinline__ void finish(const Context& c, long long at) const {
    c.first[at] = stored<FIRST>(best.first_place());
    c.second[at] = stored<SECOND>(best.best - mass.log());
  }
};

// Sums over pairs of elements.
template <int WHICH> struct Pairs {
  float sum;
  static __device__ __forceinline__ Pairs neutral() { return {0.f}; }
  __device__ __forceinline__ void pair(T x, T target) {
    const float input = to_float(x), aim = to_float(target);
    if constexpr (WHICH == 0) {
      // Below zero the logarithm is no number, and neither is the sum. A zero has none; with an infinite input it is no number
      // either. What is not normal would be zero to the logarithm, and counts for nothing.
      const float logarithm = 0.f <= aim && aim < 0x1p-126f ? 0.f : __logf(aim);
      sum += aim * (logarithm - input);
    }
    if constexpr (WHICH == 1) sum += two_to(aim * LOG2E) * (aim - input);
  }
  __device__ __forceinline__ void take(T, long long, float) {}
  __device__ __forceinline__ void merge(const Pairs& b) { sum += b.sum; }
  __device__ __forceinline__ void finish(const Context& c, long long at) const { c.first[at] = stored<FIRST>(sum * c.parameter); }
};
using Divergence = Pairs<0>;
using LogDivergence = Pairs<1>;

using Accumulator = ACCUMULATOR;
static_assert(sizeof(Accumulator) <= 32, "what a planner makes room for");

struct Merge {
  static __device__ __forceinline__ Accumulator neutral() { return Accumulator::neutral(); }
  __device__ __forceinline__ Accumulator operator()(Accumulator a, const Accumulator& b) const {
    a.merge(b);
    return a;
  }
};

// Axes, the innermost last, with their strides in elements. ONE_REDUCED says that one alone is walked along.
struct Axes {
  long long count;
  long long extent[8];
  long long stride[8];
  __device__ __forceinline__ long long offset(INDEX index) const {
    if (count == 1) return index * stride[0];
    long long offset = 0;
    for (int axis = static_cast<int>(count) - 1; axis >= 0; --axis) {
      const INDEX extent_of_axis = static_cast<INDEX>(extent[axis]), outer = index / extent_of_axis;
      offset += (index - outer * extent_of_axis) * stride[axis];
      index = outer;
    }
    return offset;
  }
  __device__ __forceinline__ long long walked(INDEX index) const {
    return ONE_REDUCED ? index * stride[0] : offset(index);
  }
};

#ifdef GROUP

// What blocks have found, by words with a mark each that says they are there: nothing between launches, which follow each other
// on one stream.
constexpr int WORDS = sizeof(Accumulator) / 4;
__device__ unsigned long long found[SPLITS * WORDS];
constexpr unsigned long long FOUND = 1ull << 32;

__device__ __forceinline__ void leave(const Accumulator& sum, int at) {
  unsigned words[WORDS];
  memcpy(words, &sum, sizeof(Accumulator));
#pragma unroll
  for (int word = 0; word < WORDS; ++word)
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(&found[at * WORDS + word]), "l"(FOUND | words[word]) : "memory");
}

// Waits for what another block leaves, and takes it away.
__device__ __forceinline__ Accumulator fetch(int at) {
  unsigned long long left[WORDS];
  bool all;
  do {
    all = true;
#pragma unroll
    for (int word = 0; word < WORDS; ++word) {
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(left[word]) : "l"(&found[at * WORDS + word]) : "memory");
    }
#pragma unroll
    for (int word = 0; word < WORDS; ++word) all &= left[word] >= FOUND;
  } while (!all);
  unsigned words[WORDS];
#pragma unroll
  for (int word = 0; word < WORDS; ++word) {
    words[word] = static_cast<unsigned>(left[word]);
    found[at * WORDS + word] = 0;
  }
  Accumulator sum;
  memcpy(&sum, words, sizeof(Accumulator));
  return sum;
}

// What the vectors of an output are.
struct Reducing {
  const T* x;
  const T* more;
  Axes reduced;
  Divisor by_each;
  long long base;
  Column columns;
  INDEX each, end;  // vectors of a segment that starts anywhere; where this block's end
};

// What a thread takes at once.
struct Chunk {
  Held<T> held[UNROLL];
#if PAIRED
  Held<T> others[UNROLL];
#endif
  Column column[UNROLL];
  bool whole;

  // How many of a vector's elements are before its row, or fewer than none. Places beyond 32 bits are not before it.
  static __device__ __forceinline__ int before_row(Column column) {
    return static_cast<int>(sizeof(Column) == 4 ? -column : max(-column, static_cast<Column>(0)));
  }

  // Whether vector u of every thread lies inside of its row, wherever that starts.
  static __device__ __forceinline__ constexpr bool is_inside(int u) {
    return COLUMNS > 0 && u * GROUP * W >= W - 1 && (u + 1) * GROUP * W <= COLUMNS;
  }

  __device__ __forceinline__ void load(const Reducing& of, INDEX start) {
    whole = COLUMNS == 0 && (EXACT || start + (UNROLL - 1) * GROUP < of.end);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const INDEX index = start + u * GROUP;
      column[u] = of.columns;
      if (EXACT || is_inside(u) || index < of.end) {
        INDEX segment = 0;
        if constexpr (SEGMENTED) segment = sizeof(INDEX) == 4 ? of.by_each.of(index) : index / of.each;
        const long long at = of.base + (SEGMENTED ? of.reduced.walked(segment) : 0);
        column[u] = static_cast<Column>(index - segment * of.each) * W - (ALIGNED ? 0 : static_cast<Column>(at % W));
        if (ALIGNED || is_inside(u) || column[u] < of.columns) {
          held[u] = *reinterpret_cast<const Held<T>*>(of.x + at + column[u]);
#if PAIRED
          others[u] = *reinterpret_cast<const Held<T>*>(of.more + at + column[u]);
#endif
        }
        if constexpr (!ALIGNED) whole &= column[u] >= 0 && column[u] + W <= of.columns;
      }
    }
  }

  __device__ __forceinline__ void add_to(Accumulator& sum, const Reducing& of) const {
    const auto& x = vectors_of<T>(held);
#if PAIRED
    const auto& aims = vectors_of<T>(others);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane)
        if (column[u] + lane >= 0 && column[u] + lane < of.columns) sum.pair(x[u].at[lane], aims[u].at[lane]);
    }
#else
    if (whole) {
      sum.vectors(x, column);
      return;
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      if (is_inside(u)) {
        sum.vector(x[u], column[u], 0, W);
      } else if (column[u] < of.columns) {
        const int from = ALIGNED ? 0 : before_row(column[u]);
        const int to = ALIGNED ? W : static_cast<int>(min(of.columns - column[u], static_cast<Column>(W)));
        sum.vector(x[u], column[u], from, to);
      }
    }
#endif
  }
};

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
reduce_rows(const T* x, FIRST* first, long long columns, long long outputs, long long segments, float parameter, int splits,
            long long share, Divisor by_splits, Divisor by_each, const T* more, SECOND* second, const long long* target,
            const Axes kept, const Axes reduced) {
  cluster_started();
  const Context context = {first, second, segments * columns, parameter, x, target};
  const unsigned of_block = SPLIT ? by_splits.of(blockIdx.x) : blockIdx.x;
  const long long output = GROUP <= 32 ? static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / GROUP : of_block;
  const int split = SPLIT ? blockIdx.x - of_block * splits : 0;
  const bool exists = EXACT || output < outputs;
  Accumulator sum = Accumulator::neutral();
  if (exists) {
    const long long base = PLAIN ? output * columns : kept.offset(static_cast<INDEX>(output));
    const Column across = COLUMNS > 0 ? COLUMNS : static_cast<Column>(columns);
    Reducing of = {x, more, reduced, by_each, base, across, 0, 0};
    of.each = static_cast<INDEX>(ALIGNED ? across / W : across == 0 ? 0 : (across + 2 * W - 2) / W);
    const INDEX all = of.each * (SEGMENTED ? static_cast<INDEX>(segments) : 1);
    const INDEX from = SPLIT ? static_cast<INDEX>(share) * split : 0;
    of.end = !SPLIT || split + 1 == splits ? all : min(all, from + static_cast<INDEX>(share));
    Chunk chunk;
    INDEX start = from + threadIdx.x % GROUP;
    chunk.load(of, start);
    if constexpr (!AT_ONCE) {
      // The next vectors are under way while these are taken.
      for (; start + GROUP * UNROLL < of.end; start += GROUP * UNROLL) {
        Chunk next;
        next.load(of, start + GROUP * UNROLL);
        chunk.add_to(sum, of);
        chunk = next;
      }
    }
    chunk.add_to(sum, of);
  }
  if constexpr (GROUP <= 32) {
    sum = over_lanes<GROUP>(sum, Merge());
  } else {
    sum = over_cluster<0, true>(over_block<GROUP, 0>(sum, Merge()), Merge());
    if constexpr (CLUSTER == 1 && SPLIT) {
      // Blocks are started in their order: the last of an output waits for none that could not run beside it.
      if (split + 1 < splits) {
        if (threadIdx.x == 0) leave(sum, blockIdx.x);
        return;
      }
      if (threadIdx.x > 0) sum = Accumulator::neutral();
      for (int before = threadIdx.x + 1; before < splits; before += GROUP) sum.merge(fetch(blockIdx.x - before));
      sum = over_block<GROUP, 1>(sum, Merge());
    }
  }
  if (exists && threadIdx.x % GROUP == 0 && (CLUSTER == 1 || split == 0)) sum.finish(context, output);
}

#endif

#ifdef TX

// How many of the blocks that share columns have come to their end: zero between launches, which follow each other on one stream.
__device__ unsigned arrived[COUNTERS];

// Whether this block is the last of `splits` that share what `which` counts; then it sees what the others have written, of
// which this block's is written by its first thread, or before a barrier.
__device__ __forceinline__ bool came_last(unsigned which, int splits) {
  __shared__ bool last;
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    // The counter goes around to zero. One thread's fences are the block's.
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(&arrived[which]), "r"(splits - 1) : "memory");
    last = before == splits - 1;
  }
  __syncthreads();
  return last;
}

// What is under way of each thread's columns: as much as there are registers for beside the accumulators.
constexpr int UNROLL = sizeof(Accumulator) <= 12 ? 4 : 2;

// Over the parts of what is reduced; the first part gets the result.
__device__ __forceinline__ void over_parts(Accumulator (&sums)[W]) {
  if constexpr (TY > 1) {
    __shared__ __align__(16) unsigned char memory[TY * TX * W * sizeof(Accumulator)];
    Accumulator* parts = reinterpret_cast<Accumulator*>(memory);
#pragma unroll
    for (int lane = 0; lane < W; ++lane) parts[(threadIdx.y * W + lane) * TX + threadIdx.x] = sums[lane];
    __syncthreads();
    for (int half = TY / 2; half > 0; half /= 2) {
      if (threadIdx.y < half) {
#pragma unroll
        for (int lane = 0; lane < W; ++lane) {
          sums[lane].merge(parts[((threadIdx.y + half) * W + lane) * TX + threadIdx.x]);
          parts[(threadIdx.y * W + lane) * TX + threadIdx.x] = sums[lane];
        }
      }
      __syncthreads();
    }
  }
}

// Accumulators of a few registers leave room for as many blocks as the planner counts on.
constexpr int COLUMN_BLOCKS = sizeof(Accumulator) * W <= 96 ? AT_ONCE : 1;

extern "C" __global__ void __launch_bounds__(TX * TY, COLUMN_BLOCKS)
reduce_columns(const T* x, FIRST* first, SECOND* second, Accumulator* partials, const Axes kept, const Axes reduced,
               long long count, long long columns, int splits, long long share, float parameter, Divisor by_splits,
               Divisor by_blocks) {
  const Context context = {first, second, count, parameter, x, nullptr};
  const unsigned block = by_splits.of(blockIdx.x), split = blockIdx.x - block * splits;
  const unsigned blocks = static_cast<unsigned>((columns + TX * W - 1) / (TX * W)), outer = by_blocks.of(block);
  const long long column = (block - outer * blocks) * static_cast<long long>(TX * W) + threadIdx.x * W;
  const long long end = min(count, share * (split + 1));
  Accumulator sums[W];
#pragma unroll
  for (int lane = 0; lane < W; ++lane) sums[lane] = Accumulator::neutral();
  if (column < columns) {
    const T* from = x + kept.offset(static_cast<INDEX>(outer)) + column;
    float many = 0.f;
    INDEX start = static_cast<INDEX>(share * split + threadIdx.y);
    // Along one axis the places are a step apart: one pointer for all.
    const T* place = from + start * reduced.stride[0];
    Held<T> held[UNROLL], next[UNROLL];
    const auto load = [&](INDEX start) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        if (start + u * TY < end)
          next[u] = *reinterpret_cast<const Held<T>*>(ONE_REDUCED ? place : from + reduced.offset(start + u * TY));
        place += TY * reduced.stride[0];
      }
    };
    load(start);
    for (; start < end; start += TY * UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) held[u] = next[u];
      load(start + TY * UNROLL);
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        if (start + u * TY < end) {
          many += 1.f;
          const float inverse = __frcp_rn(many);
#pragma unroll
          for (int lane = 0; lane < W; ++lane) sums[lane].take(vectors_of<T>(held)[u].at[lane], start + u * TY, inverse);
        }
      }
    }
  }
  over_parts(sums);
  const long long output = outer * columns + column;
  if (splits > 1) {
    // Of a block's columns, the splits one after the other: neighbouring threads write neighbours.
    Accumulator* of_block = partials + static_cast<long long>(block) * splits * (TX * W) + threadIdx.x;
    if (threadIdx.y == 0 && column < columns) {
#pragma unroll
      for (int lane = 0; lane < W; ++lane) of_block[(split * W + lane) * TX] = sums[lane];
    }
    __syncthreads();
    if (!came_last(block, splits)) return;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) sums[lane] = Accumulator::neutral();
    if (column < columns) {
      for (int at = threadIdx.y; at < splits; at += TY) {
#pragma unroll
        for (int lane = 0; lane < W; ++lane) sums[lane].merge(of_block[(at * W + lane) * TX]);
      }
    }
    over_parts(sums);
  }
  if (threadIdx.y == 0 && column < columns) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane) sums[lane].finish(context, output + lane);
  }
}

#endif
