// Rotary embeddings: pairs of a head's columns are turned by angles that follow from the token's position.
//
// ELEMENT      the elements of the heads
// TC           the elements of the tables
// INTERLEAVED  1 where a pair is neighbours, else its second number is `pairs` columns behind the first
// TABLE        where cosines and sines are: SEQUENCE by position, POSITIONS by the number that a token names, SECTIONS by
//              pair and token, MATRIX as four entries of a matrix a pair and position
// LANES        elements a vector; rotated columns and the others are multiples of it
// ALIGNED      elements that a vector is aligned to; where it is fewer than LANES, the last vector of a head may be cut
// HEADS        heads a thread: cosines and sines are read once for them
// TOKENS_FIRST 1 where a head's tokens lie together, and neighbouring threads take them
// IN_PLACE     1 where columns behind the rotated ones need no copy

using T = ELEMENT;

#define SEQUENCE 0
#define POSITIONS 1
#define SECTIONS 2
#define MATRIX 3

struct alignas(ALIGNED * sizeof(T)) Chunk { T at[LANES]; };

// One of two tensors of heads; strides are in elements.
struct Side {
  long long batch, token, head;
  int heads;
};

struct Shape {
  Side sides[2];
  long long tokens;     // of all batches
  int width, pairs;     // columns of a head, and pairs of them that are turned
  int sections[2];      // the first pair of the second and of the third section
  Divisor slots;        // threads a token and group of heads
  Divisor groups;       // groups of heads
  Divisor lengths;      // the length of a batch
  Divisor all_tokens;   // of all batches
};

extern "C" __global__ void __launch_bounds__(256) rope(const T* x0, T* y0, const T* x1, T* y1, const TC* cos, const TC* sin, const long long* positions, Shape shape) {
  constexpr int PAIRS = INTERLEAVED ? LANES / 2 : LANES;
  const unsigned thread = blockIdx.x * 256 + threadIdx.x;
  const unsigned task = shape.slots.of(thread);
  const int slot = static_cast<int>(thread - task * shape.slots.by);
#if TOKENS_FIRST
  const int group = static_cast<int>(shape.all_tokens.of(task));
  const unsigned token = task - group * shape.all_tokens.by;
  if (group >= shape.groups.by) return;
#else
  const unsigned token = shape.groups.of(task);
  const int group = static_cast<int>(task - token * shape.groups.by);
  if (token >= shape.tokens) return;
#endif
  const unsigned batch = shape.lengths.of(token);
  const long long position = token - batch * shape.lengths.by;

  const int turning = shape.pairs / PAIRS;
  const bool turns = slot < turning;
  const int first = turns ? (INTERLEAVED ? slot * LANES : slot * PAIRS) : 2 * shape.pairs + (slot - turning) * LANES;
  const int pair = slot * PAIRS;

#if TABLE == POSITIONS
  const long long named = positions[token];
#endif
  const int heads = shape.sides[0].heads + shape.sides[1].heads;
  Chunk in[HEADS][INTERLEAVED ? 1 : 2];
  T* out[HEADS];
#pragma unroll
  for (int of = 0; of < HEADS; ++of) {
    const int number = group * HEADS + of;
    if (number >= heads) break;
    const bool second = number >= shape.sides[0].heads;
    const Side side = second ? shape.sides[1] : shape.sides[0];
    const int head = second ? number - shape.sides[0].heads : number;
    const long long at = batch * side.batch + position * side.token + head * side.head + first;
    const T* const from = (second ? x1 : x0) + at;
    out[of] = (second ? y1 : y0) + at;
#if ALIGNED < LANES
    if (!turns) {
      for (int lane = 0; lane < LANES && first + lane < shape.width; ++lane) in[of][0].at[lane] = from[lane];
      continue;
    }
#endif
    in[of][0] = *reinterpret_cast<const Chunk*>(from);
#if !INTERLEAVED
    if (turns) in[of][1] = *reinterpret_cast<const Chunk*>(from + shape.pairs);
#endif
  }

  // The matrix of each pair: (c, -s; s, c), or what the table has. Asked for before anything is waited for.
  float m[PAIRS][4];
  if (turns) {
#if TABLE == MATRIX
#pragma unroll
    for (int p = 0; p < PAIRS; ++p) {
      const auto entries = load<float, 4>(cos + (position * shape.pairs + pair + p) * 4);
#pragma unroll
      for (int entry = 0; entry < 4; ++entry) m[p][entry] = entries.at[entry];
    }
#else
#if TABLE == SEQUENCE
    const long long row = position * shape.pairs + pair;
#elif TABLE == POSITIONS
    const long long row = named * 2 * shape.pairs + pair;
#else
    // A section is a multiple of PAIRS.
    const int section = (pair >= shape.sections[0]) + (pair >= shape.sections[1]);
    const long long row = (section * shape.tokens + token) * shape.pairs + pair;
#endif
    // A row of a table is a multiple of PAIRS, and so is every start.
    const auto c = load<TC, PAIRS>(cos + row), s = load<TC, PAIRS>((TABLE == POSITIONS ? cos + shape.pairs : sin) + row);
#pragma unroll
    for (int p = 0; p < PAIRS; ++p) {
      const float cosine = to_float(c.at[p]), sine = to_float(s.at[p]);
      m[p][0] = cosine, m[p][1] = -sine, m[p][2] = sine, m[p][3] = cosine;
    }
#endif
  }

  if (!turns) {
#if !IN_PLACE
#pragma unroll
    for (int of = 0; of < HEADS; ++of) {
      if (group * HEADS + of >= heads) break;
#if ALIGNED < LANES
      for (int lane = 0; lane < LANES && first + lane < shape.width; ++lane) out[of][lane] = in[of][0].at[lane];
#else
      *reinterpret_cast<Chunk*>(out[of]) = in[of][0];
#endif
    }
#endif
    return;
  }

#pragma unroll
  for (int of = 0; of < HEADS; ++of) {
    if (group * HEADS + of >= heads) break;
    Chunk turned[INTERLEAVED ? 1 : 2];
#pragma unroll
    for (int p = 0; p < PAIRS; ++p) {
      const float left = to_float(in[of][0].at[INTERLEAVED ? 2 * p : p]);
      const float right = to_float(INTERLEAVED ? in[of][0].at[2 * p + 1] : in[of][INTERLEAVED ? 0 : 1].at[p]);
      turned[0].at[INTERLEAVED ? 2 * p : p] = narrow<T>(m[p][0] * left + m[p][1] * right);
      turned[INTERLEAVED ? 0 : 1].at[INTERLEAVED ? 2 * p + 1 : p] = narrow<T>(m[p][2] * left + m[p][3] * right);
    }
    *reinterpret_cast<Chunk*>(out[of]) = turned[0];
#if !INTERLEAVED
    *reinterpret_cast<Chunk*>(out[of] + shape.pairs) = turned[1];
#endif
  }
}
