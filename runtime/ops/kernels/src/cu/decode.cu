// Attention of few queries over many keys: a block has a part of one request's keys, and each of its warps a quarter of every
// tile, so that the keys are read as fast as memory gives them. The parts are joined behind it.
//
// PARTS     whether there are several
// STAGES    how many tiles are under way

constexpr int WARPS = 4, KEYS = 16 * WARPS;
constexpr int DEPTH_STEPS = (KEY_PITCH - 8) / 16, VALUE_TILES = (VALUE_PITCH - 8) / 8;

extern "C" __global__ void __launch_bounds__(32 * WARPS)
decode(const T* q, const T* k, const T* v, const T* sinks, const int* lengths, const int* page_table, T* o, float* partial,
       float* partial_lse, int queries, int length, int groups, int table_width, float scale, float cap) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* const tiles = reinterpret_cast<T*>(shared);
  constexpr int TILE = KEYS * (KEY_PITCH + VALUE_PITCH);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane / 4, member = lane % 4;
  const int request = blockIdx.z, group = blockIdx.y % groups, row0 = blockIdx.y / groups * 16;
  const int rows = queries * SHARE, heads = groups * SHARE;
  const int total = lengths != nullptr ? lengths[request] : length, behind = total - queries;
  const Keys keys{k, v, page_table + static_cast<long long>(request) * table_width, static_cast<long long>(request) * length,
                  groups};

  // The block's part of the keys, in whole tiles.
  int lowest = 0;
  if (WINDOW > 0) lowest = max(0, row0 / SHARE + behind - WINDOW + 1) / KEYS * KEYS;
  const int all_tiles = (total - lowest + KEYS - 1) / KEYS, each = (all_tiles + gridDim.x - 1) / gridDim.x;
  const int begin = lowest + blockIdx.x * each * KEYS, end = min(begin + each * KEYS, total);

  // q straight into registers.
  uint a[DEPTH_STEPS][4];
#pragma unroll
  for (int step = 0; step < DEPTH_STEPS; ++step) {
#pragma unroll
    for (int at = 0; at < 4; ++at) {
      const int row = row0 + quad + at % 2 * 8, column = 16 * step + 2 * member + at / 2 * 8;
      const T* from = q + ((static_cast<long long>(request) * queries + row / SHARE) * heads + group * SHARE + row % SHARE) * HEAD;
      const float low = row < rows && column < HEAD ? to_float(from[column]) : 0.f;
      const float high = row < rows && column + 1 < HEAD ? to_float(from[column + 1]) : 0.f;
      a[step][at] = pack<T>(low, high);
    }
  }

  const auto load = [&](int stage, int start) {
    T* to = tiles + stage * TILE;
    if (start < end) {
      load_rows<KEYS, HEAD, KEY_PITCH, 32 * WARPS>(to, k, keys, group, start, end);
      load_rows<KEYS, VALUE, VALUE_PITCH, 32 * WARPS>(to + KEYS * KEY_PITCH, v, keys, group, start, end);
    }
    copy_commit();
  };
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) load(stage, begin + stage * KEYS);

  float out[VALUE_TILES][4] = {}, highest[2] = {-INFINITY, -INFINITY}, sums[2] = {};
  int seen[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = min(row0 + quad + 8 * half, rows - 1);
    seen[half] = row / SHARE + behind;
#if SINKS
    if (blockIdx.x == 0 && warp == 0) {
      highest[half] = to_float(sinks[group * SHARE + row % SHARE]) * LOG2E;
      sums[half] = member == 0 ? 1.f : 0.f;
    }
#endif
  }

  int stage = 0;
  for (int start = begin; start < end; start += KEYS) {
    copy_wait<STAGES - 2>();
    __syncthreads();
    load((stage + STAGES - 1) % STAGES, start + (STAGES - 1) * KEYS);
    const T* const own_k = tiles + stage * TILE + 16 * warp * KEY_PITCH + key_place(lane, KEY_PITCH);
    const T* const own_v = tiles + stage * TILE + KEYS * KEY_PITCH + 16 * warp * VALUE_PITCH + value_place(lane, VALUE_PITCH);
    stage = (stage + 1) % STAGES;

    float s[2][4] = {};
#pragma unroll
    for (int step = 0; step < DEPTH_STEPS; ++step) {
      uint b[4];
      load_matrices(b, shared_address(own_k + 16 * step));
      mma<T>(s[0], a[step], b[0], b[1]);
      mma<T>(s[1], a[step], b[2], b[3]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = highest[half];
#pragma unroll
      for (int at = 0; at < 4; ++at) {
        float& x = s[at / 2][2 * half + at % 2];
        const int number = start + 16 * warp + 8 * (at / 2) + 2 * member + at % 2;
        const bool is_seen =
            number < end && (!CAUSAL || number <= seen[half]) && (WINDOW == 0 || number > seen[half] - WINDOW);
        x = is_seen ? score(x, scale, cap) : -INFINITY;
        most = fmaxf(most, x);
      }
      most = most_of_four(most);
      const float from = most == -INFINITY ? 0.f : most, factor = two_to(highest[half] - from);
      highest[half] = most;
      float sum = 0.f;
#pragma unroll
      for (int at = 0; at < 4; ++at) {
        float& x = s[at / 2][2 * half + at % 2];
        x = two_to(x - from);
        sum += x;
      }
      sums[half] = sums[half] * factor + sum;
#pragma unroll
      for (int value = 0; value < VALUE_TILES; ++value) out[value][2 * half] *= factor, out[value][2 * half + 1] *= factor;
    }
    const uint p[4] = {pack<T>(s[0][0], s[0][1]), pack<T>(s[0][2], s[0][3]), pack<T>(s[1][0], s[1][1]),
                       pack<T>(s[1][2], s[1][3])};
#pragma unroll
    for (int pair = 0; pair < VALUE_TILES / 2; ++pair) {
      uint b[4];
      load_transposed(b, shared_address(own_v + 16 * pair));
      mma<T>(out[2 * pair], p, b[0], b[1]);
      mma<T>(out[2 * pair + 1], p, b[2], b[3]);
    }
  }
  copy_wait<0>();
  __syncthreads();

  // The warps' states joined: the highest scores and sums first, then the values, in the memory that the tiles had.
  float* const states = reinterpret_cast<float*>(shared);
  float* const values = states + WARPS * 16 * 2;
  constexpr int PITCH = VALUE_PITCH - 8 + 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = sum_of_four(sums[half]);
    if (member == 0) {
      states[(warp * 16 + quad + 8 * half) * 2] = highest[half];
      states[(warp * 16 + quad + 8 * half) * 2 + 1] = sum;
    }
  }
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = quad + 8 * half;
    float most = -INFINITY;
    for (int other = 0; other < WARPS; ++other) most = fmaxf(most, states[(other * 16 + row) * 2]);
    const float factor = most == -INFINITY ? 0.f : two_to(highest[half] - most);
#pragma unroll
    for (int value = 0; value < VALUE_TILES; ++value) {
      float* to = values + (warp * 16 + row) * PITCH + 8 * value + 2 * member;
      to[0] = out[value][2 * half] * factor, to[1] = out[value][2 * half + 1] * factor;
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at < 16 * VALUE; at += 32 * WARPS) {
    const int row = at / VALUE, column = at % VALUE, number = row0 + row;
    if (number >= rows) continue;
    float most = -INFINITY, sum = 0.f, value = 0.f;
    for (int other = 0; other < WARPS; ++other) most = fmaxf(most, states[(other * 16 + row) * 2]);
    for (int other = 0; other < WARPS; ++other) {
      const float* state = states + (other * 16 + row) * 2;
      if (most != -INFINITY) sum += state[1] * two_to(state[0] - most);
      value += values[(other * 16 + row) * PITCH + column];
    }
    value = sum > 0.f ? value / sum : 0.f;
    const long long of = (static_cast<long long>(request) * queries + number / SHARE) * heads + group * SHARE + number % SHARE;
#if PARTS
    const long long part = static_cast<long long>(blockIdx.x) * gridDim.z * queries * heads + of;
    partial[part * VALUE + column] = value;
    if (column == 0) partial_lse[part] = sum > 0.f ? most + log2f(sum) : -INFINITY;
#else
    o[of * VALUE + column] = from_float<T>(value);
#endif
  }
}

#if PARTS
// Joins the parts of each query and head. A block a query and head.
extern "C" __global__ void __launch_bounds__(128)
join(const float* partial, const float* partial_lse, T* o, int parts, int rows) {
  const int row = blockIdx.x;
  float most = -INFINITY, sum = 0.f;
  for (int part = 0; part < parts; ++part) most = fmaxf(most, partial_lse[static_cast<long long>(part) * rows + row]);
  for (int column = threadIdx.x; column < VALUE; column += 128) {
    float value = 0.f;
    sum = 0.f;
    for (int part = 0; part < parts; ++part) {
      const long long of = static_cast<long long>(part) * rows + row;
      const float weight = most == -INFINITY ? 0.f : two_to(partial_lse[of] - most);
      sum += weight;
      value += weight * partial[of * VALUE + column];
    }
    o[static_cast<long long>(row) * VALUE + column] = from_float<T>(sum > 0.f ? value / sum : 0.f);
  }
}
#endif
