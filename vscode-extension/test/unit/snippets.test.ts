import { describe, expect, it } from 'vitest';
import snippets from '../../snippets/manifest.json';
import { placeOf } from '../../src/place';

describe('the place of a snippet', () => {
  it.each([
    ['at the margin', ['AOp:', '  family: x', 'ent'], 'margin'],
    ['among the rows', ['AOp:', '  workloads:', '  - {M: 1}', '  - r'], 'workloads'],
    ['among rows that are indented', ['AOp:', '  workloads:', '    - {M: 1}', '    '], 'workloads'],
    ['as the first row', ['AOp:', '  workloads:', '  '], 'workloads'],
    ['among the families', ['AOp:', '  signature:', '    types:', '      fam'], 'types'],
    [
      'behind another family',
      ['AOp:', '  signature:', '    types:', '      S:', '        match: p', '      f'],
      'types',
    ],
    ['behind a section', ['AOp:', '  workloads:', '  - {M: 1}', '  roofline: {flops: M}', '  '], undefined],
    ['in the list of a key beside it', ['AOp:', '  workloads:', '  - {M: 1}', '  rules:', '  - r'], undefined],
    ['in a signature', ['AOp:', '  signature:', '    fam'], undefined],
    ['in a list of something else', ['AOp:', '  signature:', '    shape_rules:', '    - r'], undefined],
    ['behind a key', ['AOp:', '  family: en'], undefined],
    ['behind the rows', ['AOp:', '  workloads:', '  - {M: 1}', '  roofline:', '    '], undefined],
  ])('%s', (_, lines, place) => {
    expect(placeOf(lines)).toBe(place);
  });
});

it('every snippet has a place, and its placeholders are numbered from one', () => {
  for (const [name, snippet] of Object.entries(snippets)) {
    expect(['margin', 'workloads', 'types'], name).toContain(snippet.place);
    const body = snippet.body.join('\n');
    expect(body, name).toContain('$0');
    expect(body, name).toContain('${1:');
  }
});
