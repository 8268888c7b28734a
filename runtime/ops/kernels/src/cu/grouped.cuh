// Tiles of groups of rows, ROWS x COLUMNS each.
//
// GROUPS_BY  what says whose a row is: 0 where each group begins and the last ends; 1 where each ends, the next one beginning at
//            the next multiple of `align`; 2 how many of its `align` rows each has; 3 where each begins, then where each ends
// SUMMED     whether the contraction is over a group's rows: then every group has all tiles

struct Tile {
  int group, row0, rows, column0;
};

// The block's tile. Those of one group and a band of columns are neighbours, so that both operands stay in the cache.
__device__ __forceinline__ Tile find(const int* metadata, int groups, int align, int n) {
  const int across = (n + COLUMNS - 1) / COLUMNS;
#if SUMMED
  const int group = blockIdx.z;
  return {group, static_cast<int>(blockIdx.x) * ROWS, 0, static_cast<int>(blockIdx.y) * COLUMNS};
#else
  const int lane = threadIdx.x % 32;
  int place = blockIdx.x;
  for (int first = 0; first < groups; first += 32) {
    const int group = first + lane;
    int begin = 0, rows = 0;
    if (group < groups) {
#if GROUPS_BY == 0
      begin = metadata[group], rows = metadata[group + 1] - begin;
#elif GROUPS_BY == 1
      begin = group > 0 ? (metadata[group - 1] + align - 1) / align * align : 0, rows = metadata[group] - begin;
#elif GROUPS_BY == 2
      begin = group * align, rows = metadata[group];
#else
      begin = metadata[group], rows = metadata[groups + group] - begin;
#endif
    }
    const int tiles = (max(rows, 0) + ROWS - 1) / ROWS * across;
    int behind = tiles;
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
      const int other = __shfl_up_sync(~0u, behind, apart);
      if (lane >= apart) behind += other;
    }
    const unsigned found = __ballot_sync(~0u, place < behind);
    if (found != 0) {
      const int of = __ffs(found) - 1;
      const int its = place - (__shfl_sync(~0u, behind, of) - __shfl_sync(~0u, tiles, of));
      const int its_begin = __shfl_sync(~0u, begin, of), its_rows = __shfl_sync(~0u, rows, of);
      constexpr int BAND = 16;
      const int down = (its_rows + ROWS - 1) / ROWS, band = its / (down * BAND), within = its % (down * BAND);
      const int width = min(BAND, across - band * BAND), tile = within / width;
      const int column = band * BAND + within % width;
      return {first + of, its_begin + tile * ROWS, its_rows - tile * ROWS, column * COLUMNS};
    }
    place -= __shfl_sync(~0u, behind, 31);
  }
  return {-1, 0, 0, 0};
#endif
}

#if GROUPS_BY == 3
// Where each group's rows begin and end, of each row's group; a negative one is nobody's row.
extern "C" __global__ void __launch_bounds__(256) spans(const int* of_row, int* begins_and_ends, int rows, int groups) {
  const int row = blockIdx.x * 256 + threadIdx.x;
  if (row >= rows) return;
  const int group = of_row[row];
  if (group < 0) return;
  if (row == 0 || of_row[row - 1] != group) begins_and_ends[group] = row;
  if (row == rows - 1 || of_row[row + 1] != group) begins_and_ends[groups + group] = row + 1;
}
#endif
