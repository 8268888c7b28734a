import { describe, expect, it } from 'vitest';
import { shown } from '../../src/status';

const manifest = { uri: 'file:///a.yaml', manifest: true, kind: 'manifest', reason: 'it is in a manifest folder' };

describe('the status item', () => {
  it('counts the defects of a manifest and says why it is one', () => {
    expect(shown({ kind: 'running' }, undefined, manifest, 2, 1)).toMatchObject({
      text: 'Op manifest: 2 errors, 1 advisory',
      detail: 'it is in a manifest folder',
      busy: false,
    });
    expect(shown({ kind: 'running' }, undefined, manifest, 0, 0).text).toBe('Op manifest: no defects');
  });

  it('says why a file is none', () => {
    const file = { ...manifest, manifest: false, kind: 'none', reason: 'no entry in it has a `signature`' };
    expect(shown({ kind: 'running' }, undefined, file, 0, 0)).toMatchObject({
      text: 'Not an op manifest',
      detail: 'no entry in it has a `signature`',
    });
  });

  it('is busy while the server works, starts and waits', () => {
    expect(shown({ kind: 'running' }, 'Judging manifests: 3 of 9 files', manifest, 0, 0)).toMatchObject({
      busy: true,
      detail: 'Judging manifests: 3 of 9 files',
    });
    expect(shown({ kind: 'starting' }, undefined, undefined, 0, 0).busy).toBe(true);
    expect(shown({ kind: 'waiting', seconds: 1 }, undefined, undefined, 0, 0)).toMatchObject({
      busy: true,
      severity: 'warning',
      detail: 'the language server ended unexpectedly and starts again in 1 second',
    });
  });

  it('offers to start what is stopped', () => {
    for (const state of [{ kind: 'stopped' }, { kind: 'failed', reason: 'why' }] as const) {
      expect(shown(state, undefined, manifest, 0, 0).command).toBe('tileops.restartServer');
    }
  });
});
