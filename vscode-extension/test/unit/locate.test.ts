import { describe, expect, it } from 'vitest';
import { locate, type Places } from '../../src/locate';

const PROGRAMS = [
  '/set/lsp',
  '/env/lsp',
  '/bin2/tileops-lsp',
  '/ext/server/tileops-lsp',
  '/work/tools/lsp',
  '/work/tileops-lsp',
  '/home/me/lsp',
];

function places(change: Partial<Places>): Places {
  return {
    name: 'tileops-lsp',
    setting: '',
    settingName: 'tileops.server.path',
    folder: '/work',
    variable: { name: 'TILEOPS_LSP', value: undefined },
    path: '/bin1:/bin2',
    bundle: '/ext/server',
    trusted: true,
    platform: 'linux',
    home: '/home/me',
    isProgram: (file) => PROGRAMS.includes(file),
    ...change,
  };
}

describe('the server is found', () => {
  const variable = { name: 'TILEOPS_LSP', value: '/env/lsp' };

  it.each<[string, Partial<Places>, string, string]>([
    ['by the setting before anything else', { setting: '/set/lsp', variable }, '/set/lsp', 'setting'],
    ['by the environment before PATH', { variable }, '/env/lsp', 'environment'],
    ['on PATH before the bundle', {}, '/bin2/tileops-lsp', 'path'],
    ['in the bundle', { path: '/bin1' }, '/ext/server/tileops-lsp', 'bundled'],
    ['relative to the workspace folder', { setting: 'tools/lsp' }, '/work/tools/lsp', 'setting'],
    ['by variables of a setting', { setting: '${workspaceFolder}/tools/lsp' }, '/work/tools/lsp', 'setting'],
    ['in the home folder', { setting: '~/lsp' }, '/home/me/lsp', 'setting'],
  ])('%s', (_, change, file, origin) => {
    expect(locate(places(change))).toEqual({ file, origin, warnings: [] });
  });

  it('in the bundle alone where the workspace is not trusted', () => {
    const found = locate(places({ trusted: false, setting: '/set/lsp', variable }));
    expect(found).toEqual({ file: '/ext/server/tileops-lsp', origin: 'bundled', warnings: [] });
  });

  it('never by an item of PATH that is relative to the workspace', () => {
    expect(locate(places({ path: '.:', bundle: '/none' })).file).toBeUndefined();
  });

  it('in spite of a setting and a variable that name nothing, which is said', () => {
    const found = locate(places({ setting: 'gone', variable: { name: 'TILEOPS_LSP', value: '/gone' } }));
    expect(found.file).toBe('/bin2/tileops-lsp');
    expect(found.warnings).toEqual([
      'The setting `tileops.server.path` names /work/gone, which is not a program.',
      'The environment variable TILEOPS_LSP names /gone, which is not a program.',
    ]);
  });
});
