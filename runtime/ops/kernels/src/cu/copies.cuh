// Copies from global to shared memory that go on while the kernel computes.

__device__ __forceinline__ unsigned shared_address(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

// 16 bytes from global to shared memory, behind the kernel's back; zeros where `valid` is false.
__device__ __forceinline__ void copy_async(unsigned to, const void* from, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most N of the groups that were committed are under way.
template <int N> __device__ __forceinline__ void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
// The same where N, up to three, is known only once a loop is unrolled.
__device__ __forceinline__ void copy_wait_of(int n) {
  if (n == 3) copy_wait<3>();
  else if (n == 2) copy_wait<2>();
  else if (n == 1) copy_wait<1>();
  else copy_wait<0>();
}

// A vector of 4, 8 or 16 bytes; a smaller one is there at once. Not by way of L1 where it has 16.
template <typename V> __device__ __forceinline__ void copy_vector(V* to, const void* from) {
  constexpr int BYTES = sizeof(V);
  if constexpr (BYTES == 16) copy_async(shared_address(to), from, true);
  else if constexpr (BYTES == 8 || BYTES == 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(BYTES) : "memory");
  else *to = *static_cast<const V*>(from);
}

// A vector that was copied, by one instruction where it has 16 bytes: the compiler takes it apart by what its elements need.
template <typename V> __device__ __forceinline__ V copied_vector(const V* from) {
  if constexpr (sizeof(V) == 16) {
    V vector;
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    memcpy(&vector, &words, sizeof(words));
    return vector;
  } else {
    return *from;
  }
}
