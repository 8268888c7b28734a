// A matrix product of any shape and any alignment: what runs where nothing faster takes the call.
//
// TA, TB, TD   the elements of a, b and d
// SUM          what products are added up in: float or int
// A(row, at)   an element of the left operand, an expression of the pointers below
// B(column, at)
// FINISH(sum, row, column)   an element of the result

constexpr int TILE = 32, DEEP = 32;

extern "C" __global__ void __launch_bounds__(256)
plain(const TA* a, const TB* b, const float* scale_a, const float* scale_b, const TS* scale, const TS* zero, const TD* bias,
      TD* d, int m, int n, int k, int group) {
  __shared__ SUM left[DEEP][TILE + 1], right[DEEP][TILE + 1];
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE, across = threadIdx.x % 16, down = threadIdx.x / 16;
  const long long batch = blockIdx.z;
  SUM sums[2][2] = {};
  for (int start = 0; start < k; start += DEEP) {
    for (int at = threadIdx.x; at < TILE * DEEP; at += 256) {
      const int deep = at % DEEP, of = at / DEEP, step = start + deep, row = row0 + of, column = column0 + of;
      left[deep][of] = row < m && step < k ? static_cast<SUM>(A(row, step)) : static_cast<SUM>(0);
      right[deep][of] = column < n && step < k ? static_cast<SUM>(B(column, step)) : static_cast<SUM>(0);
    }
    __syncthreads();
#pragma unroll 8
    for (int deep = 0; deep < DEEP; ++deep) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) sums[i][j] += left[deep][down + 16 * i] * right[deep][across + 16 * j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int row = row0 + down + 16 * i, column = column0 + across + 16 * j;
      if (row >= m || column >= n) continue;
      const SUM sum = sums[i][j];
      d[(batch * m + row) * n + column] = static_cast<TD>(FINISH(sum, row, column));
    }
  }
}
