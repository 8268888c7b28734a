/** Where in a manifest a snippet can stand, by the lines above. */

/** Where a snippet can stand. */
export type Place = 'margin' | 'workloads' | 'types' | undefined;

/** Which part of a manifest the last of `lines` is in, if there is nothing on it but a word. */
export function placeOf(lines: readonly string[]): Place {
  const line = lines.at(-1) ?? '';
  if (/^[A-Za-z]*$/.test(line)) return 'margin';
  const item = /^( *)(-? *)[A-Za-z]*$/.exec(line);
  if (item === null) return undefined;
  const indent = item[1]?.length ?? 0;
  const isItem = item[2] !== '';
  let hasSibling = false;
  for (let at = lines.length - 2; at >= 0; at--) {
    const above = lines[at] ?? '';
    if (/^\s*(#|$)/.test(above)) continue;
    const key = /^( *)([A-Za-z_]\w*) *:\s*(#.*)?$/.exec(above);
    const depth = above.length - above.trimStart().length;
    if (key !== null && depth <= indent) {
      // Items of a list stand at its key's indentation or deeper, members of a mapping deeper.
      if (key[2] === 'workloads' && !hasSibling) return 'workloads';
      if (key[2] === 'types' && depth < indent) return 'types';
    }
    if (depth < indent) return undefined;
    if (depth === indent && !above.trimStart().startsWith('-')) {
      // A list ends at a key beside it; a mapping goes on.
      if (isItem) return undefined;
      hasSibling = true;
    }
  }
  return undefined;
}
