import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json';
import { commandLine } from '../../src/commandLine';

describe('a task', () => {
  it('is the command that it names', () => {
    const task = (task: 'check' | 'rows' | 'price' | 'bench', rest = {}) => commandLine({ task, ...rest });
    expect(task('check')).toEqual({ program: 'tileops-lsp', args: ['--check', '--format', 'concise'] });
    expect(task('rows', { op: 'Gemm*', paths: ['m'] })).toEqual({
      program: 'tileops-lsp',
      args: ['--rows', '--select-op', 'Gemm*', 'm'],
    });
    expect(task('price', { op: 'AFwdOp', manifest: 'm', out: 'records/a.jsonl' })).toEqual({
      program: 'tileops-bench',
      args: ['--price', '--manifest', 'm', '--op', 'AFwdOp', '--out', 'records/a.jsonl'],
    });
    expect(task('bench')).toEqual({ program: 'tileops-bench', args: [] });
  });
});

describe('the problem matcher', () => {
  const pattern = new RegExp(packageJson.contributes.problemPatterns[0]?.regexp ?? '');

  it('reads what --check --format concise prints', () => {
    const line = 'manifest/de mo.yaml:3:15: error[unknown-name]: `Q` is not declared: a, b';
    expect(pattern.exec(line)?.slice(1)).toEqual([
      'manifest/de mo.yaml',
      '3',
      '15',
      'error',
      'unknown-name',
      '`Q` is not declared: a, b',
    ]);
    expect(pattern.exec('a.yaml:2:19: advisory[unused-suppression]: nothing')?.[4]).toBe('advisory');
  });

  it('takes nothing else for a defect', () => {
    for (const line of [
      '14 files, 2 errors',
      'a.yaml:5:6: unreached: the kind is not judged',
      'error: cannot read `x`',
    ]) {
      expect(pattern.test(line), line).toBe(false);
    }
  });
});
