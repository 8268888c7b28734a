// Norms of groups of channels: a group is `segments` runs of `length` neighbouring elements, `stride` apart.
//
// ELEMENT, AFFINE    of x and y, of weight and bias
// WIDTH              elements of a vector; it divides `length`
// GROUP              threads of a block
// NEIGHBOURS         1 where segments follow each other; BY_SEGMENT 1 where each has a weight of its own
// CLUSTER            blocks that share a group, which together hold it in shared memory
//
// `normalize_groups` reads each element once. `normalize_segments` takes statistics that are known: those of a training, or
// of a reduction over groups that are too long to be held.

using T = ELEMENT;
using A = AFFINE;

struct Affine {
  const A *weight, *bias;
  __device__ __forceinline__ float2 of(long long channel) const {
    return {weight ? to_float(weight[channel]) : 1.f, bias ? to_float(bias[channel]) : 0.f};
  }
};

__device__ __forceinline__ void normalized(const Vector<T, W>& in, T* to, float mean, float scale, float shift) {
  Vector<T, W> out;
#pragma unroll
  for (int lane = 0; lane < W; ++lane) out.at[lane] = from_float<T>(fmaf(to_float(in.at[lane]) - mean, scale, shift));
  *reinterpret_cast<Vector<T, W>*>(to) = out;
}

// The share of the batch's statistics in the running ones; the variance's is that of a sample.
__device__ __forceinline__ void run_on(float* mean, float* variance, long long channel, float momentum, float of_batch,
                                       float variance_of_batch, float count) {
  mean[channel] = fmaf(momentum, of_batch - mean[channel], mean[channel]);
  const float unbiased = variance_of_batch * (count / (count - 1.f));
  variance[channel] = fmaf(momentum, unbiased - variance[channel], variance[channel]);
}

#ifdef CLUSTER

// The group's first channel is `group % kinds * channels`; with BY_SEGMENT each segment has one of its own. `magic` is 2^40 over
// a segment's vectors, rounded up: a group that is held has less than 2^20 of them, by which quotients are exact.
extern "C" __global__ void IN_CLUSTERS __launch_bounds__(GROUP)
normalize_groups(const T* x, T* y, const A* weight, const A* bias, float* running_mean, float* running_var,
                 long long group_stride, long long stride, int segments, int length, long long magic, int kinds,
                 int channels, float eps, float momentum) {
  cluster_started();
  extern __shared__ __align__(16) unsigned char memory[];
  Vector<T, W>* held = reinterpret_cast<Vector<T, W>*>(memory);
  const unsigned which = blockIdx.x / CLUSTER, rank = CLUSTER > 1 ? cluster_rank() : 0;
  const T* from = x + which * group_stride;
  T* to = y + which * group_stride;
  const unsigned each = length / W, all = each * segments;
  const unsigned share = (all + CLUSTER - 1) / CLUSTER, first = rank * share, last = min(all, first + share);
  const float count = static_cast<float>(static_cast<long long>(segments) * length);
  constexpr int UNROLL = 8;
  const auto segment_of = [&](unsigned index) { return static_cast<unsigned>(index * magic >> 40); };
  const auto place = [&](unsigned index) {
    if constexpr (NEIGHBOURS) return static_cast<long long>(index) * W;
    const unsigned segment = segment_of(index);
    return segment * stride + static_cast<long long>(index - segment * each) * W;
  };
  float sum = 0.f;
  for (unsigned start = first + threadIdx.x; start < last; start += GROUP * UNROLL) {
    Vector<T, W> in[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      if (start + u * GROUP < last)
        in[u] = *reinterpret_cast<const Vector<T, W>*>(from + place(start + u * GROUP));
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      if (start + u * GROUP < last) {
        held[start + u * GROUP - first] = in[u];
#pragma unroll
        for (int lane = 0; lane < W; ++lane) sum += to_float(in[u].at[lane]);
      }
    }
  }
  const float mean = over_cluster<0, true>(over_block<GROUP, 0>(sum, Sum()), Sum()) / count;
  // Each thread reads back what it held itself.
  float squares = 0.f;
  for (unsigned index = first + threadIdx.x; index < last; index += GROUP) {
    const auto in = held[index - first];
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      const float distance = to_float(in.at[lane]) - mean;
      squares = fmaf(distance, distance, squares);
    }
  }
  const float variance = over_cluster<1, false>(over_block<GROUP, 1>(squares, Sum()), Sum()) / count;
  const float factor = rsqrtf(variance + eps);
  const Affine affine = {weight, bias};
  const long long channel = static_cast<long long>(which % kinds) * channels;
  if (running_mean && rank == 0 && threadIdx.x == 0)
    run_on(running_mean, running_var, channel, momentum, mean, variance, count);
  float2 of = affine.of(channel);
#pragma unroll 4
  for (unsigned index = first + threadIdx.x; index < last; index += GROUP) {
    if constexpr (BY_SEGMENT) of = affine.of(channel + segment_of(index));
    normalized(held[index - first], to + place(index), mean, of.x * factor, of.y);
  }
}

#else

// Segments in the order of memory: segment `s` is of the group `s / each % groups` and the channel `s % channels`. A block has
// four vectors a thread.
extern "C" __global__ void __launch_bounds__(128)
normalize_segments(const T* x, T* y, const A* weight, const A* bias, const float* means, const float* variances,
                   long long length, unsigned each, unsigned groups, unsigned channels, unsigned chunks, float eps) {
  constexpr int VECTORS_OF_THREAD = 4;
  const unsigned segment = blockIdx.x / chunks;
  const long long first = ((blockIdx.x - segment * chunks) * (128ll * VECTORS_OF_THREAD) + threadIdx.x) * W;
  const long long at = segment * length + first;
  Vector<T, W> in[VECTORS_OF_THREAD];
#pragma unroll
  for (int v = 0; v < VECTORS_OF_THREAD; ++v)
    if (first + v * 128 * W < length) in[v] = *reinterpret_cast<const Vector<T, W>*>(x + at + v * 128 * W);
  const unsigned group = segment / each % groups, channel = segment % channels;
  const float factor = rsqrtf(variances[group] + eps);
  const Affine affine = {weight, bias};
  const float2 of = affine.of(channel);
  const float mean = means[group], scale = of.x * factor;
#pragma unroll
  for (int v = 0; v < VECTORS_OF_THREAD; ++v)
    if (first + v * 128 * W < length) normalized(in[v], y + at + v * 128 * W, mean, scale, of.y);
}

extern "C" __global__ void __launch_bounds__(256)
update_running(float* running_mean, float* running_var, const float* means, const float* variances, int channels,
               float momentum, float count) {
  const int channel = blockIdx.x * 256 + threadIdx.x;
  if (channel < channels) run_on(running_mean, running_var, channel, momentum, means[channel], variances[channel], count);
}

#endif
