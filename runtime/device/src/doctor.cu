// What kernels need of a toolkit and a device: the headers of the small types, and that what is compiled runs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void tileops_doctor(unsigned* out) {
  const int i = threadIdx.x;
  const float x = static_cast<float>(i % 8);
  const float bf16 = __bfloat162float(__float2bfloat16_rn(x));
  const float fp16 = __half2float(__float2half_rn(x));
  const float fp8 = static_cast<float>(__nv_fp8_e4m3(x));
  out[i] = static_cast<unsigned>(bf16 + fp16 + fp8);
}
