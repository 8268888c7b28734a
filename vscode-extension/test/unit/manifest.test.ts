import * as fs from 'node:fs';
import * as path from 'node:path';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { configText, looksLikeManifest } from '../../src/manifest';

const ROOT = path.resolve(import.meta.dirname, '../../..');

describe('a manifest is told from other YAML', () => {
  it('where it is one of ours', () => {
    const folder = path.join(ROOT, 'manifest');
    const files = fs.readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'types.yaml');
    expect(files.length).toBeGreaterThan(5);
    for (const name of files)
      expect(looksLikeManifest(fs.readFileSync(path.join(folder, name), 'utf8')), name).toBe(true);
  });

  it.each([
    ['an API', 'openapi: 3.1.0\npaths:\n  /x:\n    get: {}\n'],
    ['a cluster', 'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n'],
    ['a key that ends in Op without a signature', 'MyOp:\n  image: nginx\n  roofline: 1\n'],
    ['a signature of something else', 'jar:\n  signature: abc\n  family: x\n'],
    ['nothing', ''],
  ])('where it is %s', (_, text) => {
    expect(looksLikeManifest(text)).toBe(false);
  });
});

it('a new tileops.toml is TOML that names the folders, with what else there is as comments', () => {
  expect(parse(configText(['manifest', 'my "ops"']))).toEqual({ manifest: ['manifest', 'my "ops"'] });
  const uncommented = configText(['m']).replace(/^# (?=\[|\w+(?:-\w+)* = )/gm, '');
  expect(parse(uncommented)).toEqual({
    manifest: ['m'],
    formulas: { package: 'tileops.perf.formulas', sources: ['python/tileops/perf'] },
    codes: { 'optional-coverage': 'advisory' },
  });
});
