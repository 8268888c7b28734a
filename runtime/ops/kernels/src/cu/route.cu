// Chooses each token's experts: a warp a token, EACH scores a lane.
//
// T         the elements of the logits
// SIGMOID   whether an expert's score is the sigmoid of its logit, and not their softmax
// BIASED    whether a bias takes part in the choice
// GROUPED   whether the best groups are chosen first, by the sum of their two best
// EACH      how many experts a lane has
//
// Of equal scores the expert with the lower number is chosen. Without a bias the logits themselves are compared, which scores
// grow with. With one, scores are compared in double precision: near ties would else be decided by rounding.

#if BIASED
using Choice = double;
#else
using Choice = float;
#endif

constexpr int WARPS = 4;

// What is not a number counts as more than any number.
__device__ __forceinline__ bool is_better(Choice a, int at, Choice b, int other) {
  if (other < 0) return at >= 0;
  if (at < 0) return false;
  if (isnan(a) != isnan(b)) return isnan(a);
  return a > b || (!(a < b) && at < other);
}

__device__ __forceinline__ void best_of_warp(Choice& value, int& at) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const Choice other = __shfl_xor_sync(~0u, value, apart);
    const int other_at = __shfl_xor_sync(~0u, at, apart);
    if (is_better(other, other_at, value, at)) value = other, at = other_at;
  }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
route(const T* logits, const float* bias, float* weights, int* ids, int tokens, int experts, int top_k, int normalize,
      int groups, int top_groups, float scaling) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, token = blockIdx.x * WARPS + warp;
  if (token >= tokens) return;
  logits += static_cast<long long>(token) * experts;
  float logit[EACH];
  Choice choice[EACH];
  float highest = -INFINITY;
  unsigned open = 0;
#pragma unroll
  for (int at = 0; at < EACH; ++at) {
    const int expert = 32 * at + lane;
    if (expert < experts) {
      logit[at] = to_float(logits[expert]);
      highest = fmaxf(highest, logit[at]);
      open |= 1u << at;
#if BIASED
      choice[at] = 1.0 / (1.0 + exp(-static_cast<double>(logit[at]))) + static_cast<double>(bias[expert]);
#else
      choice[at] = logit[at];
#endif
    } else {
      logit[at] = -INFINITY, choice[at] = 0;
    }
  }

#if GROUPED
  if (groups > 1) {
    extern __shared__ Choice shared[];
    Choice* all = shared + warp * (experts + 2 * groups);
    Choice* sums = all + experts;
    int* taken = reinterpret_cast<int*>(sums + groups);
#pragma unroll
    for (int at = 0; at < EACH; ++at) {
      if (32 * at + lane < experts) all[32 * at + lane] = choice[at];
    }
    __syncwarp();
    const int size = experts / groups;
    for (int group = lane; group < groups; group += 32) {
      Choice first = 0, second = 0;
      int first_at = -1, second_at = -1;
      for (int at = group * size; at < (group + 1) * size; ++at) {
        const Choice value = all[at];
        if (is_better(value, at, first, first_at)) {
          second = first, second_at = first_at;
          first = value, first_at = at;
        } else if (is_better(value, at, second, second_at)) {
          second = value, second_at = at;
        }
      }
      sums[group] = first + second, taken[group] = 0;
    }
    __syncwarp();
    for (int round = 0; round < top_groups; ++round) {
      Choice best = 0;
      int best_at = -1;
      for (int group = lane; group < groups; group += 32) {
        if (!taken[group] && is_better(sums[group], group, best, best_at)) best = sums[group], best_at = group;
      }
      best_of_warp(best, best_at);
      if (lane == 0 && best_at >= 0) taken[best_at] = 1;
      __syncwarp();
    }
#pragma unroll
    for (int at = 0; at < EACH; ++at) {
      const int expert = 32 * at + lane;
      if (expert < experts && !taken[expert / size]) open &= ~(1u << at);
    }
  }
#endif

#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, apart));
#if !SIGMOID
  float total = 0.f;
#pragma unroll
  for (int at = 0; at < EACH; ++at) total += expf(logit[at] - highest);
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) total += __shfl_xor_sync(~0u, total, apart);
#endif

  float chosen = 0.f;
  weights += static_cast<long long>(token) * top_k;
  ids += static_cast<long long>(token) * top_k;
  for (int round = 0; round < top_k; ++round) {
    Choice best = 0;
    float its_logit = 0.f;
    int best_at = -1;
#pragma unroll
    for (int at = 0; at < EACH; ++at) {
      if (open >> at & 1 && is_better(choice[at], 32 * at + lane, best, best_at)) {
        best = choice[at], best_at = 32 * at + lane, its_logit = logit[at];
      }
    }
    best_of_warp(best, best_at);
    if (best_at < 0) best_at = 0;
    its_logit = __shfl_sync(~0u, its_logit, best_at % 32);
    if (best_at % 32 == lane) open &= ~(1u << best_at / 32);
#if SIGMOID
    const float weight = 1.f / (1.f + expf(-its_logit));
#else
    const float weight = expf(its_logit - highest) / total;
#endif
    chosen += weight;
    if (lane == 0) weights[round] = weight, ids[round] = best_at;
  }
  __syncwarp();
  if (normalize || scaling != 1.f) {
    const float factor = normalize ? scaling / chosen : scaling;
    for (int round = lane; round < top_k; round += 32) weights[round] *= factor;
  }
}
