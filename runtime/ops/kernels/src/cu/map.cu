// Rows whose elements are computed one by one, with what belongs to the row (row.cuh).
//
// ELEMENT, RESULT    of x and y
// OTHER              of what else MAP reads by column
// MAP                which of the maps below
// CHUNKS             the blocks of a row, for rows of a block or more

using T = ELEMENT;
using Y = RESULT;
using O = OTHER;

struct Arguments {
  const T* x;
  Y* y;
  const float* of_row;     // a number for each row
  const O* other;
  const long long* target;
  const int* zero_of_row;
  int columns;
  int first, second;       // integer parameters
};

// A map takes the row, and a vector's columns.

// x over the scale, in the range of the narrow dtype, to its nearest number.
struct Quantize {
  static __device__ __forceinline__ void run(const Arguments& a, const Row& row, long long, int column) {
    const auto in = row.load(a.x, column);
    const Quotient quotient(a.of_row[0]);
    float codes[W];
#pragma unroll
    for (int lane = 0; lane < W; ++lane) codes[lane] = quotient(to_float(in.at[lane]));
    Vector<Y, W> out;
    Narrow<Y, false>::run(codes, out);
    row.store(a.y, column, out);
  }
};

// q times the row's scale, and the column's where there is one.
struct DequantizeRow {
  static __device__ __forceinline__ void run(const Arguments& a, const Row& row, long long which, int column) {
    const float scale = a.of_row[which];
    const auto in = row.load(a.x, column);
    Vector<O, W> columns = {};
    if (a.other) columns = row.parameter(a.other, column);
    Vector<Y, W> out;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      float value = to_float(in.at[lane]) * scale;
      if (a.other) value *= to_float(columns.at[lane]);
      out.at[lane] = from_float<Y>(value);
    }
    row.store(a.y, column, out);
  }
};

// q times the scale of its block of `first` rows and `second` columns.
struct DequantizeBlock {
  static __device__ __forceinline__ void run(const Arguments& a, const Row& row, long long which, int column) {
    const float* scales = a.of_row + which / a.first * ((a.columns + a.second - 1) / a.second);
    const auto in = row.load(a.x, column);
    Vector<Y, W> out;
    // Lanes of one block read one scale.
    const int block = max(column, 0) / a.second;
    const bool alone = min(column + W, a.columns) - 1 < (block + 1) * a.second;
    const float scale = scales[block];
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      const float of_lane = alone || !row.holds(column + lane) ? scale : scales[(column + lane) / a.second];
      out.at[lane] = from_float<Y>(to_float(in.at[lane]) * of_lane);
    }
    row.store(a.y, column, out);
  }
};

// Two numbers of four bits a byte, the low half first, less the zero point of their `first` columns, times their scale.
struct DequantizeInt4 {
  static __device__ __forceinline__ void run(const Arguments& a, const Row& row, long long which, int column) {
    const int groups = a.columns / a.first;
    const O* scales = a.other + which * groups;
    const O* zeros = a.target ? reinterpret_cast<const O*>(a.target) + which * groups : nullptr;
    const auto* bytes = reinterpret_cast<const unsigned char*>(a.x) + (row.at + column) / 2;
    const auto in = *reinterpret_cast<const Vector<unsigned char, (W + 1) / 2>*>(bytes);
    Vector<Y, W> out;
    const int group = max(column, 0) / a.first;
    const bool alone = min(column + W, a.columns) - 1 < (group + 1) * a.first;
    const float scale = to_float(scales[group]), zero = zeros ? to_float(zeros[group]) : 0.f;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      const float code = static_cast<float>(in.at[lane / 2] >> 4 * (lane % 2) & 15);
      float of_lane = scale, zero_of_lane = zero;
      if (!alone && row.holds(column + lane)) {
        const int other = (column + lane) / a.first;
        of_lane = to_float(scales[other]);
        if (zeros) zero_of_lane = to_float(zeros[other]);
      }
      out.at[lane] = from_float<Y>((code - zero_of_lane) * of_lane);
    }
    row.store(a.y, column, out);
  }
};

// To a whole number between `first` and `second`, by the row's scale and zero point, and back.
struct FakeQuantize {
  static __device__ __forceinline__ void run(const Arguments& a, const Row& row, long long which, int column) {
    const float scale = a.of_row[which], inverse = 1.f / scale;
    const float zero = static_cast<float>(a.zero_of_row[which]);
    const auto in = row.load(a.x, column);
    Vector<Y, W> out;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      const float code = rintf(to_float(in.at[lane]) * inverse) + zero;
      const float held = fminf(fmaxf(code, static_cast<float>(a.first)), static_cast<float>(a.second));
      out.at[lane] = from_float<Y>((held - zero) * scale);
    }
    row.store(a.y, column, out);
  }
};

// The gradient of a row's cross entropy: (exp(x - lse) - (1 at the target)) times the loss's gradient.
struct CrossEntropyGradient {
  static __device__ __forceinline__ void run(const Arguments& a, const Row& row, long long which, int column) {
    const float gradient = a.of_row[which], lse = to_float(a.other[which]);
    const long long target = a.target[which];
    const auto in = row.load(a.x, column);
    Vector<Y, W> out;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      const float share = two_to((to_float(in.at[lane]) - lse) * LOG2E);
      out.at[lane] = from_float<Y>(gradient * (share - (column + lane == target ? 1.f : 0.f)));
    }
    row.store(a.y, column, out);
  }
};

extern "C" __global__ void __launch_bounds__(GROUP * ROWS)
map_rows(const T* x, Y* y, const float* of_row, const O* other, const long long* target, const int* zero_of_row,
         int columns, long long rows, int first, int second) {
  const Arguments arguments = {x, y, of_row, other, target, zero_of_row, columns, first, second};
  long long which = blockIdx.x / CHUNKS;
  if constexpr (GROUP <= 32) which = static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / GROUP;
  if (which >= rows) return;
  const int chunk = GROUP <= 32 ? 0 : blockIdx.x % CHUNKS;
  const Row row(which, columns);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const int column = row.column(chunk * VECTORS + v);
    if (row.touches(column)) MAP::run(arguments, row, which, column);
  }
}
