// Asynchronous products of a warpgroup: what their instructions name, and their order.
//
// Tiles lie in shared memory in rows of 128 bytes, eight of which are one pattern of 1 KiB: chunk c of row r, 16 bytes, is at
// place c ^ r % 8 of its row.

// A descriptor of what begins at `address`: patterns are `leading` bytes apart along the rows of a transposed operand, and 1 KiB
// along the other axis.
__device__ __forceinline__ unsigned long long described(unsigned address, unsigned leading) {
  return (static_cast<unsigned long long>(address) & 0x3ffff) >> 4 | static_cast<unsigned long long>(leading >> 4) << 16 |
         64ull << 32 | 1ull << 62;
}

// What was written to shared memory is seen by the products behind it.
__device__ __forceinline__ void show_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// What registers hold is seen by the products behind it.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most so many of the groups committed are under way.
template <int LEFT> __device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// The sums of an instruction: their names, which are its first operands, and these operands.
#define NAMES_32                                                                                                               \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                                     \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                                                               \
  NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                                \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_128                                                                                                              \
  NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                                \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "                                           \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "                               \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SUMS_4(d, at) "+f"(d[at]), "+f"(d[at + 1]), "+f"(d[at + 2]), "+f"(d[at + 3])
#define SUMS_16(d, at) SUMS_4(d, at), SUMS_4(d, at + 4), SUMS_4(d, at + 8), SUMS_4(d, at + 12)
#define SUMS_32(d, at) SUMS_16(d, at), SUMS_16(d, at + 16)
#define SUMS_64(d, at) SUMS_32(d, at), SUMS_32(d, at + 32)
#define SUMS_128(d, at) SUMS_64(d, at), SUMS_64(d, at + 64)
