// y is the byte in every byte of it: THREADS threads a block, of VECTORS vectors of 16 bytes each.

extern "C" __global__ void __launch_bounds__(THREADS) fill(unsigned char* y, long long bytes, int byte) {
  const unsigned word = 0x01010101u * byte;
  const uint4 words = {word, word, word, word};
  const long long vectors = bytes / 16, first = static_cast<long long>(blockIdx.x) * (THREADS * VECTORS) + threadIdx.x;
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    if (first + v * THREADS < vectors) reinterpret_cast<uint4*>(y)[first + v * THREADS] = words;
  // Behind the last whole vector.
  if (blockIdx.x == gridDim.x - 1) {
    const long long at = vectors * 16 + threadIdx.x;
    if (at < bytes) y[at] = static_cast<unsigned char>(byte);
  }
}
