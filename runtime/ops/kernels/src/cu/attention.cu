// Attention of many queries: a block has ROWS rows, takes the keys a tile of KEYS after the other, and keeps each row's highest
// score, sum and weighted values as it goes.
//
// PACKED   whether requests lie behind one another, as `offsets` says
// LSE      whether the logarithms of the sums are wanted
// WARPS    warps a block, each of which has BLOCKS times 16 rows

constexpr int ROWS = 16 * BLOCKS * WARPS;
constexpr int DEPTH_STEPS = (KEY_PITCH - 8) / 16, VALUE_TILES = (VALUE_PITCH - 8) / 8, KEY_TILES = KEYS / 8;
static_assert(VALUE_TILES % 2 == 0 && KEYS % 16 == 0, "tiles come in pairs");

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
attention(const T* q, const T* k, const T* v, const T* sinks, const int* offsets, const int* cached, const int* page_table,
          T* o, float* lse, int batch, int queries, int length, int groups, int table_width, float scale, float cap) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* const all_q = reinterpret_cast<T*>(shared);
  T* const all_k = all_q + ROWS * KEY_PITCH;
  T* const all_v = all_k + 2 * KEYS * KEY_PITCH;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane / 4, member = lane % 4;
  const int group = blockIdx.y, heads = groups * SHARE;

  int request = blockIdx.z, tile = CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  long long first = static_cast<long long>(request) * queries;
  int total = length;
#if PACKED
  // The block's tile, counted over all requests.
  for (request = 0; request < batch; ++request) {
    first = offsets[request];
    queries = static_cast<int>(offsets[request + 1] - first);
    const int tiles = (queries * SHARE + ROWS - 1) / ROWS;
    if (tile < tiles) break;
    tile -= tiles;
  }
  if (request == batch) return;
  total = PAGE ? cached[request] + queries : queries;
#endif
  const Keys keys{k, v, page_table + static_cast<long long>(request) * table_width,
                  PACKED ? first : static_cast<long long>(request) * length, groups};
  const int row0 = tile * ROWS, rows = queries * SHARE, behind = total - queries;
  if (row0 >= rows) return;

  // The rows of q, as the keys' rows are loaded.
  {
    constexpr int CHUNKS = (KEY_PITCH - 8) / 8;
    for (int at = threadIdx.x; at < ROWS * CHUNKS; at += 32 * WARPS) {
      const int row = at / CHUNKS, chunk = at % CHUNKS, number = row0 + row;
      const bool within = number < rows;
      const T* source = q + ((first + number / SHARE) * heads + group * SHARE + number % SHARE) * HEAD + chunk * 8;
      T* target = all_q + row * KEY_PITCH + chunk * 8;
      if constexpr (HEAD % 8 == 0) {
        const bool valid = within && chunk * 8 < HEAD;
        copy_async(shared_address(target), valid ? source : q, valid);
      } else {
        for (int of = 0; of < 8; ++of) target[of] = within && chunk * 8 + of < HEAD ? source[of] : T(0.f);
      }
    }
  }

  // The keys that any row of the block sees.
  const int last_row = min(row0 + ROWS, rows) - 1;
  const int end = CAUSAL ? min(total, last_row / SHARE + behind + 1) : total;
  int begin = 0;
  if (WINDOW > 0) begin = max(0, row0 / SHARE + behind - WINDOW + 1) / KEYS * KEYS;

  const auto load_keys = [&](int stage, int start) {
    if (start < end) load_rows<KEYS, HEAD, KEY_PITCH, 32 * WARPS>(all_k + stage * KEYS * KEY_PITCH, k, keys, group, start, end);
    copy_commit();
  };
  const auto load_values = [&](int stage, int start) {
    if (start < end) {
      load_rows<KEYS, VALUE, VALUE_PITCH, 32 * WARPS>(all_v + stage * KEYS * VALUE_PITCH, v, keys, group, start, end);
    }
    copy_commit();
  };
  load_keys(0, begin);
  load_values(0, begin);

  float out[BLOCKS][VALUE_TILES][4] = {};
  float highest[BLOCKS][2], sums[BLOCKS][2];
  int seen[BLOCKS][2];
  const int own = row0 + warp * 16 * BLOCKS + quad;
#pragma unroll
  for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(own + 16 * block + 8 * half, rows - 1);
      seen[block][half] = row / SHARE + behind;
      highest[block][half] = -INFINITY, sums[block][half] = 0.f;
#if SINKS
      highest[block][half] = to_float(sinks[group * SHARE + row % SHARE]) * LOG2E;
      sums[block][half] = member == 0 ? 1.f : 0.f;
#endif
    }
  }
  const T* const own_q = all_q + warp * 16 * BLOCKS * KEY_PITCH + left_place(lane, KEY_PITCH);
  const int first_seen = row0 / SHARE + behind, last_seen = last_row / SHARE + behind;

  int stage = 0;
  for (int start = begin; start < end; start += KEYS, stage ^= 1) {
    copy_wait<1>();
    __syncthreads();
    load_keys(stage ^ 1, start + KEYS);

    float s[BLOCKS][KEY_TILES][4] = {};
    const T* const own_k = all_k + stage * KEYS * KEY_PITCH + key_place(lane, KEY_PITCH);
#pragma unroll
    for (int step = 0; step < DEPTH_STEPS; ++step) {
      uint a[BLOCKS][4];
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block) {
        load_matrices(a[block], shared_address(own_q + 16 * block * KEY_PITCH + 16 * step));
      }
#pragma unroll
      for (int pair = 0; pair < KEY_TILES / 2; ++pair) {
        uint b[4];
        load_matrices(b, shared_address(own_k + 16 * pair * KEY_PITCH + 16 * step));
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
          mma<T>(s[block][2 * pair], a[block], b[0], b[1]);
          mma<T>(s[block][2 * pair + 1], a[block], b[2], b[3]);
        }
      }
    }

    const bool is_edge = start + KEYS > total || (CAUSAL && start + KEYS > first_seen + 1) ||
                         (WINDOW > 0 && start <= last_seen - WINDOW);
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at = seen[block][half];
        float most = highest[block][half];
#pragma unroll
        for (int key = 0; key < KEY_TILES; ++key) {
#pragma unroll
          for (int of = 0; of < 2; ++of) {
            float& x = s[block][key][2 * half + of];
            x = score(x, scale, cap);
            if (is_edge) {
              const int number = start + 8 * key + 2 * member + of;
              const bool is_seen = number < total && (!CAUSAL || number <= at) && (WINDOW == 0 || number > at - WINDOW);
              if (!is_seen) x = -INFINITY;
            }
            most = fmaxf(most, x);
          }
        }
        most = most_of_four(most);
        // A row that has seen nothing yet has nothing to rescale.
        const float from = most == -INFINITY ? 0.f : most;
        const float factor = two_to(highest[block][half] - from);
        highest[block][half] = most;
        float sum = 0.f;
#pragma unroll
        for (int key = 0; key < KEY_TILES; ++key) {
#pragma unroll
          for (int of = 0; of < 2; ++of) {
            float& x = s[block][key][2 * half + of];
            x = two_to(x - from);
            sum += x;
          }
        }
        sums[block][half] = sums[block][half] * factor + sum;
#pragma unroll
        for (int value = 0; value < VALUE_TILES; ++value) {
          out[block][value][2 * half] *= factor, out[block][value][2 * half + 1] *= factor;
        }
      }
    }

    copy_wait<1>();
    __syncthreads();
    load_values(stage ^ 1, start + KEYS);

    const T* const own_v = all_v + stage * KEYS * VALUE_PITCH + value_place(lane, VALUE_PITCH);
#pragma unroll
    for (int step = 0; step < KEYS / 16; ++step) {
      uint a[BLOCKS][4];
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block) {
        const auto& low = s[block][2 * step];
        const auto& high = s[block][2 * step + 1];
        a[block][0] = pack<T>(low[0], low[1]), a[block][1] = pack<T>(low[2], low[3]);
        a[block][2] = pack<T>(high[0], high[1]), a[block][3] = pack<T>(high[2], high[3]);
      }
#pragma unroll
      for (int pair = 0; pair < VALUE_TILES / 2; ++pair) {
        uint b[4];
        load_transposed(b, shared_address(own_v + 16 * step * VALUE_PITCH + 16 * pair));
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
          mma<T>(out[block][2 * pair], a[block], b[0], b[1]);
          mma<T>(out[block][2 * pair + 1], a[block], b[2], b[3]);
        }
      }
    }
  }
  copy_wait<0>();

#pragma unroll
  for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = own + 16 * block + 8 * half;
      const float sum = sum_of_four(sums[block][half]);
      if (row >= rows) continue;
      const float factor = sum > 0.f ? 1.f / sum : 0.f;
      const long long query = first + row / SHARE;
      const int head = group * SHARE + row % SHARE;
      T* to = o + (query * heads + head) * VALUE;
#pragma unroll
      for (int value = 0; value < VALUE_TILES; ++value) {
        const int column = 8 * value + 2 * member;
        const float x = out[block][value][2 * half] * factor, y = out[block][value][2 * half + 1] * factor;
        if constexpr (VALUE % 2 == 0) {
          if (column < VALUE) *reinterpret_cast<uint*>(to + column) = pack<T>(x, y);
        } else {
          if (column < VALUE) to[column] = from_float<T>(x);
          if (column + 1 < VALUE) to[column + 1] = from_float<T>(y);
        }
      }
#if LSE
      // The queries' number is that of the whole batch here.
      if (member == 0) {
        lse[static_cast<long long>(head) * offsets[batch] + query] = (highest[block][half] + log2f(sum)) / LOG2E;
      }
#endif
    }
  }
}
