import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { createVSIX } from '@vscode/vsce';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Workbench } from './workbench';

let workbench: Workbench;
let folder: string;

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tileops-yaml-'));
  const extension = path.join(folder, 'yaml-client');
  const vsix = path.join(folder, 'yaml-client.vsix');
  await build({
    entryPoints: [path.join(import.meta.dirname, 'fixtures/yaml-client.ts')],
    outfile: path.join(extension, 'extension.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['vscode'],
    define: {
      SERVER: JSON.stringify(createRequire(import.meta.url).resolve('yaml-language-server/out/server/src/server.js')),
    },
  });
  const manifest = {
    name: 'yaml-client',
    publisher: 'test',
    version: '1.0.0',
    engines: { vscode: '^1.91.0' },
    main: './extension.js',
    activationEvents: ['onLanguage:yaml'],
  };
  fs.writeFileSync(path.join(extension, 'package.json'), JSON.stringify(manifest));
  await createVSIX({
    cwd: extension,
    packagePath: vsix,
    dependencies: false,
    allowMissingRepository: true,
    skipLicense: true,
  });
  const gemm = fs.readFileSync(path.join(import.meta.dirname, 'workspace/manifest/gemm.yaml'), 'utf8');
  workbench = await Workbench.start({
    extensions: [vsix],
    files: {
      'k8s/broken.yaml': 'kind: Pod\nkind: Pod\n',
      'manifest/gemm.yaml': gemm.replace('    shape_rules:', '    \n    shape_rules:'),
    },
  });
});

afterEach(async (context) => {
  if (context.task.result?.state === 'fail')
    await workbench.failed(`together-${context.task.name.replaceAll(/\W+/g, '-')}`);
});

afterAll(async () => {
  await workbench?.stop();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** The labels of the completion at the cursor. */
async function completions(): Promise<string[]> {
  await workbench.page.keyboard.press('Control+Space');
  await workbench.page.locator('.suggest-widget.visible .monaco-list-row').first().waitFor();
  // Whatever comes late is waited for.
  await workbench.page.waitForTimeout(1_500);
  const labels = await workbench.page
    .locator('.suggest-widget .monaco-list-row')
    .evaluateAll((rows) => rows.map((row) => row.querySelector('.label-name')?.textContent ?? ''));
  await workbench.page.keyboard.press('Escape');
  return labels;
}

describe('beside the YAML language server', () => {
  it('both are there', async () => {
    await workbench.open('k8s/broken.yaml');
    await workbench.page.locator('.squiggly-error').first().waitFor({ state: 'attached' });
    await workbench.show('norm.yaml');
    await workbench.page.locator('.squiggly-error').first().waitFor({ state: 'attached' });
    await workbench.hasText('64.00 MiB');
  });

  it.each([
    ['keys', 25, 5, 'let'],
    ['names in an expression', 27, 10, 'K'],
    ['dtypes', 16, 50, 'float16'],
  ])('%s are completed once', async (_, line, column, expected) => {
    await workbench.show('gemm.yaml');
    await workbench.goTo(line, column);
    const labels = await completions();
    expect(labels).toContain(expected);
    expect(labels.filter((label, at) => labels.indexOf(label) !== at)).toEqual([]);
  });

  it('says each defect once', async () => {
    await workbench.show('norm.yaml');
    await workbench.command('Problems: Focus on Problems View');
    await workbench.problems.filter({ hasText: 'spec_only' }).first().waitFor();
    expect(await workbench.problems.filter({ hasText: 'spec_only' }).count()).toBe(1);
  });
});
