// y[column, row] = x[row, column], rows of y padded with zeros to `width`. (`across` columns of x become rows.)
//
// T   the elements

extern "C" __global__ void __launch_bounds__(256) transpose(const T* x, T* y, int rows, int columns, int width) {
  __shared__ T tile[32][33];
  const int column0 = blockIdx.x * 32, row0 = blockIdx.y * 32, across = threadIdx.x % 32, down = threadIdx.x / 32;
#pragma unroll
  for (int at = down; at < 32; at += 8) {
    const int row = row0 + at, column = column0 + across;
    if (row < rows && column < columns) tile[at][across] = x[static_cast<long long>(row) * columns + column];
  }
  __syncthreads();
#pragma unroll
  for (int at = down; at < 32; at += 8) {
    const int row = column0 + at, column = row0 + across;
    if (row < columns && column < width) {
      y[static_cast<long long>(row) * width + column] = column < rows ? tile[across][at] : T(0);
    }
  }
}

// y[row, column] = x[row, column], rows of y padded with zeros to `width`.
extern "C" __global__ void __launch_bounds__(256) pad(const T* x, T* y, int rows, int columns, int width) {
  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= static_cast<long long>(rows) * width) return;
  const int row = static_cast<int>(at / width), column = static_cast<int>(at % width);
  y[at] = column < columns ? x[static_cast<long long>(row) * columns + column] : T(0);
}

#ifdef LANES
// y[i, j, a, b] = x[i, a, j, b]: r of the first two, c of the others. A thread takes LANES.
extern "C" __global__ void __launch_bounds__(256) swap(const T* x, T* y, long long elements, int r, int c) {
  const long long at = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * LANES;
  if (at >= elements) return;
  const int b = static_cast<int>(at % c), a = static_cast<int>(at / c % c), j = static_cast<int>(at / c / c % r);
  const long long i = at / c / c / r;
  *reinterpret_cast<Vector<T, LANES>*>(y + at) = *reinterpret_cast<const Vector<T, LANES>*>(x + ((i * c + a) * r + j) * c + b);
}
#endif
