// How many numbers, their mean, and their sum of squared distances from it: merged as Chan, Golub and LeVeque (1979) do.
struct Moments {
  float many, mean, squares;
};

struct Pooled {
  static __device__ __forceinline__ Moments neutral() { return {0.f, 0.f, 0.f}; }
  __device__ __forceinline__ Moments operator()(Moments a, Moments b) const {
    const float all = a.many + b.many, distance = b.mean - a.mean;
    const float share = all > 0.f ? __fdividef(b.many, all) : 0.f;
    // Before the distance is squared: zero where one of them is empty, whose distance may have a square that is infinite.
    const float weight = a.many * share;
    return {all, fmaf(distance, share, a.mean), a.squares + fmaf(distance * weight, distance, b.squares)};
  }
};
