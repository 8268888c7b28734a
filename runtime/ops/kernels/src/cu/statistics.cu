// Norms of groups of channels: a group is `segments` runs of `length` neighbouring elements, `stride` apart.
//
// ELEMENT, AFFINE    of x and y, of weight and bias
// WIDTH              elements of a vector; it divides `length`
// GROUP              threads of a block
// NEIGHBOURS         1 where segments follow each other; BY_SEGMENT 1 where each has a weight of its own
// CLUSTER            blocks that share a group, which together hold it in shared memory
//
// `normalize_rows` and `normalize_groups` read each element once. `normalize_segments` takes statistics that are known: those of
// a training, or of a reduction over groups that are too long to be held.

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
  store_vector(to, out);
}

// The moments of what a thread takes, by distances from a number amid its own: what the sums cancel is no more than what is
// there.
struct Taken {
  float amid = 0.f, many = 0.f, sum = 0.f, squares = 0.f;
  __device__ __forceinline__ void begin(const Vector<T, W>& first) {
#pragma unroll
    for (int lane = 0; lane < W; ++lane) amid += to_float(first.at[lane]) * (1.f / W);
  }
  __device__ __forceinline__ void take(const Vector<T, W>& in) {
    many += W;
#pragma unroll
    for (int lane = 0; lane < W; ++lane) {
      const float distance = to_float(in.at[lane]) - amid;
      sum += distance;
      squares = fmaf(distance, distance, squares);
    }
  }
  __device__ __forceinline__ Moments moments() const {
    const float apart = many > 0.f ? sum / many : 0.f;
    return {many, amid + apart, fmaxf(squares - sum * apart, 0.f)};
  }
};

// A channel's running mean and variance, and the share of the batch's in them; the variance's is that of a sample.
struct Running {
  float mean, variance;
  __device__ __forceinline__ void run_on(float momentum, float of_batch, float variance_of_batch, float count) {
    mean = fmaf(momentum, of_batch - mean, mean);
    variance = fmaf(momentum, variance_of_batch * (count / (count - 1.f)) - variance, variance);
  }
};

#if defined(VECTORS)

static_assert(CLUSTER == 1, "a block holds its rows");

// Groups of neighbours that are short enough for registers are rows (row.cuh), read once each, of segments of `length`.
extern "C" __global__ void __launch_bounds__(GROUP * ROWS, MIN_BLOCKS)
normalize_rows(const T* x, T* y, const A* weight, const A* bias, long long rows, int columns, Divisor length, long long kinds,
               long long channels, float eps) {
  long long which = row_of_group();
  const bool exists = which < rows;
  if (!exists) which = rows - 1;
  const Row row(which, columns);
  const Affine affine = {weight, bias};
  const long long channel = which % kinds * channels;
  Vector<T, W> in[VECTORS];
  float2 of[BY_SEGMENT ? VECTORS : 1];
  if constexpr (!BY_SEGMENT) of[0] = affine.of(channel);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    if (row.touches(row.column(v))) {
      in[v] = row.load(x, row.column(v));
      if constexpr (BY_SEGMENT) of[v] = affine.of(channel + length.of(row.column(v)));
    }
  }
  Taken taken;
  if (row.touches(row.column(0))) taken.begin(in[0]);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v)
    if (row.touches(row.column(v))) taken.take(in[v]);
  const Moments moments = over_row<0, true>(taken.moments(), Pooled());
  if (!exists) return;
  const float factor = rsqrtf(moments.squares / static_cast<float>(columns) + eps);
#pragma unroll
  for (int v = 0; v < VECTORS; ++v) {
    const float2 of_vector = of[BY_SEGMENT ? v : 0];
    convert_anew(in[v]);
    if (row.touches(row.column(v)))
      normalized(in[v], y + row.at + row.column(v), moments.mean, of_vector.x * factor, of_vector.y);
  }
}

#elif defined(CLUSTER)

// The segments of a group, of `each` vectors. `magic` is 2^40 over that, rounded up: quotients are exact where the group's
// vectors times those of a segment are no more than 2^40.
struct Segments {
  unsigned each;
  long long stride, magic;
  __device__ __forceinline__ unsigned segment_of(unsigned index) const { return static_cast<unsigned>(index * magic >> 40); }
  // The first element of a vector of the group.
  __device__ __forceinline__ long long place(unsigned index) const {
    if constexpr (NEIGHBOURS) return static_cast<long long>(index) * W;
    const unsigned segment = segment_of(index);
    return segment * stride + static_cast<long long>(index - segment * each) * W;
  }
};

// The group's first channel is `group % kinds * channels`; with BY_SEGMENT each segment has one of its own.
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
  const Segments of_group = {static_cast<unsigned>(length / W), stride, magic};
  const unsigned all = of_group.each * segments;
  const unsigned share = (all + CLUSTER - 1) / CLUSTER, first = rank * share, last = min(all, first + share);
  const float count = static_cast<float>(static_cast<long long>(segments) * length);
  // The whole share is under way at once. A thread waits for the parts that it copied itself, one after the other.
  constexpr int PARTS = 4;
  const unsigned of_part = first < last ? (last - first + GROUP * PARTS - 1) / (GROUP * PARTS) * GROUP : 0;
  const auto start_of = [&](int part) { return first + part * of_part + threadIdx.x; };
  const auto end_of = [&](int part) { return min(last, first + (part + 1) * of_part); };
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
#pragma unroll 4
    for (unsigned index = start_of(part); index < end_of(part); index += GROUP)
      copy_vector(held + index - first, from + of_group.place(index));
    copy_commit();
  }
  // What the group is weighed by comes along with it, of the share's segments behind what is held; and so do its running
  // statistics, which one thread goes on with: read at the end, they would hold up the block.
  const Affine affine = {weight, bias};
  const long long channel = static_cast<long long>(which % kinds) * channels;
  const unsigned segment = of_group.segment_of(first);
  float2* const of_segments = reinterpret_cast<float2*>(memory + (share * sizeof(Vector<T, W>) + 15) / 16 * 16);
  float2 of = {1.f, 0.f};
  if constexpr (BY_SEGMENT) {
    if (first < last)
      for (unsigned s = segment + threadIdx.x; s <= of_group.segment_of(last - 1); s += GROUP)
        of_segments[s - segment] = affine.of(channel + s);
  } else {
    of = affine.of(channel);
  }
  const bool runs_on = running_mean && rank == 0 && threadIdx.x == 0;
  Running running = {};
  if (runs_on) running = {running_mean[channel], running_var[channel]};
  Taken taken;
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    copy_wait_of(PARTS - 1 - part);
    if (part == 0 && first + threadIdx.x < last) taken.begin(copied_vector(held + threadIdx.x));
#pragma unroll 4
    for (unsigned index = start_of(part); index < end_of(part); index += GROUP) taken.take(copied_vector(held + index - first));
  }
  const Moments moments = over_cluster<0, true>(over_block<GROUP, 0>(taken.moments(), Pooled()), Pooled());
  const float mean = moments.mean, variance = moments.squares / count;
  const float factor = rsqrtf(variance + eps);
  if (runs_on) {
    running.run_on(momentum, mean, variance, count);
    running_mean[channel] = running.mean, running_var[channel] = running.variance;
  }
#pragma unroll 4
  for (unsigned index = first + threadIdx.x; index < last; index += GROUP) {
    if constexpr (BY_SEGMENT) of = of_segments[of_group.segment_of(index) - segment];
    normalized(copied_vector(held + index - first), to + of_group.place(index), mean, of.x * factor, of.y);
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
  if (channel >= channels) return;
  Running running = {running_mean[channel], running_var[channel]};
  running.run_on(momentum, means[channel], variances[channel], count);
  running_mean[channel] = running.mean, running_var[channel] = running.variance;
}

#endif
