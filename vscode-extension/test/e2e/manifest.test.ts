import * as fs from 'node:fs';
import * as path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PLACES, Workbench } from './workbench';

let workbench: Workbench;

beforeAll(async () => {
  const late = fs.readFileSync(path.join(PLACES.workspace, 'manifest/norm.yaml'), 'utf8');
  const files = ['One', 'Two', 'Three'].map((name) => [
    `other/${name.toLowerCase()}.yaml`,
    late.replaceAll(/(\w+)FwdOp:/g, `$1${name}FwdOp:`),
  ]);
  workbench = await Workbench.start({ files: Object.fromEntries(files) });
});

afterEach(async (context) => {
  if (context.task.result?.state === 'fail') await workbench.failed(context.task.name.replaceAll(/\W+/g, '-'));
});

afterAll(() => workbench?.stop());

describe('a manifest with defects', () => {
  it('has its first squiggle soon after the window opens with it', async () => {
    await workbench.watchFor('.squiggly-error');
    await workbench.open('manifest/norm.yaml');
    await workbench.page.locator('.squiggly-error').first().waitFor({ state: 'attached' });
    const { text, found } = await workbench.times();
    // The window, the extension and the server all start meanwhile.
    console.log(`first diagnostics ${(found - text).toFixed(0)} ms after the text of the first file in a new window`);
  });

  it('has its first squiggle within two seconds of opening', async () => {
    const took: number[] = [];
    // These lie outside the manifest folders, so that nobody has judged them before. Another try is for a machine that is
    // busy with something else.
    for (const name of ['one.yaml', 'two.yaml', 'three.yaml']) {
      await workbench.page.keyboard.press('Control+P');
      await workbench.page.locator('.quick-input-widget input').fill(`other/${name}`);
      await workbench.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().waitFor();
      const opened = performance.now();
      await workbench.page.keyboard.press('Enter');
      await workbench.tab(name).waitFor();
      await workbench.page.locator('.squiggly-error').first().waitFor({ state: 'attached' });
      took.push(performance.now() - opened);
      if ((took.at(-1) ?? 0) < 2_000) break;
      await workbench.page.keyboard.press('Control+F4');
    }
    console.log(`first diagnostics ${took.map((ms) => ms.toFixed(0)).join(', ')} ms after opening a file`);
    expect(Math.min(...took)).toBeLessThan(2_000);
    await workbench.show('norm.yaml');
  });

  it('lists its defects as problems, at their characters', async () => {
    await workbench.command('Problems: Focus on Problems View');
    await workbench.problems.filter({ hasText: 'is not declared' }).first().waitFor();
    const rows = (await workbench.problems.allTextContents()).join('\n');
    expect(rows).toContain('unknown-name');
    expect(rows).toMatch(/Ln 19, Col \d+/);
    expect(rows).toContain('spec_only');
  });

  it('previews the bytes of each row in the text', async () => {
    await workbench.hasText('64.00 MiB');
  });

  it('marks nothing in other YAML', async () => {
    await workbench.show('deployment.yaml');
    await workbench.hasText('nginx');
    await workbench.page.waitForTimeout(500);
    const squiggles = await workbench.page
      .locator('.editor-instance .squiggly-error, .editor-instance .squiggly-warning')
      .count();
    expect(squiggles).toBe(0);
  });

  it('completes what is allowed, and the accepted completion stands', async () => {
    await workbench.show('norm.yaml');
    // Instead of the unknown `d`.
    await workbench.goTo(19, 28);
    await workbench.hasText('prod(B) * d');
    await workbench.page.keyboard.press('Backspace');
    await workbench.page.keyboard.press('Control+Space');
    const row = workbench.page.locator('.suggest-widget .monaco-list-row', { hasText: /^D/ }).first();
    await row.waitFor();
    await workbench.picture('completion');
    const labels = await workbench.page
      .locator('.suggest-widget .monaco-list-row')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')?.split(',')[0]));
    expect(new Set(labels).size).toBe(labels.length);
    await workbench.page.keyboard.type('D');
    await row.waitFor();
    await workbench.page.keyboard.press('Enter');
    await workbench.hasText('4 * prod(B) * D"');
    await workbench.page.locator('.suggest-widget.visible').waitFor({ state: 'detached' });
  });

  it('renames an index in the signature, the rows and the formulas', async () => {
    await workbench.goTo(7, 24);
    await workbench.page.keyboard.press('F2');
    const box = workbench.page.locator('.rename-input');
    await box.waitFor();
    await box.fill('Width');
    await workbench.page.keyboard.press('Enter');
    await workbench.hasText('Width: Dim');
    await workbench.hasText('4 * prod(B) * Width"');
    await workbench.hasText('Width: 4096');
    await workbench.hasText('"[*B, Width]"');
  });
});

describe('a fix', () => {
  it('is applied from the light bulb, and its defect is gone', async () => {
    const { page } = workbench;
    await workbench.command('Problems: Focus on Problems View');
    await workbench.problems.filter({ hasText: 'row-key' }).first().waitFor();
    await workbench.tab('norm.yaml').click();
    const column = (await workbench.line(17)).indexOf(' H:') + 2;
    await workbench.goTo(17, column);
    await page.keyboard.press('Control+.');
    await page.locator('.action-widget .monaco-list-row').first().waitFor();
    await workbench.picture('fix');
    await page.locator('.action-widget .monaco-list-row', { hasText: 'Remove `H`' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => workbench.line(17)).not.toContain('H:');
    await workbench.problems.filter({ hasText: '`Width`, `some`' }).waitFor({ state: 'detached' });
  });
});

describe('the language status', () => {
  it('counts the defects and says why the file is a manifest', async () => {
    const { page } = workbench;
    await page.locator('#status\\.languageStatus').click();
    const status = page.locator('.hover-language-status', { hasText: 'Op manifest' });
    await status.waitFor();
    expect(await status.textContent()).toMatch(/Op manifest: \d errors?.*it is in a manifest folder/);
    await page.keyboard.press('Escape');
  });
});

describe('snippets', () => {
  it('give a new entry at the margin of a manifest', async () => {
    const { page } = workbench;
    await workbench.tab('norm.yaml').click();
    await page.locator('.editor-instance .view-lines').first().click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('\nentr');
    const row = page.locator('.suggest-widget .monaco-list-row', { hasText: 'entry' }).first();
    await row.waitFor();
    await workbench.picture('snippet');
    await row.click();
    await page.keyboard.type('Gelu');
    await page.keyboard.press('Escape');
    await workbench.hasText('GeluFwdOp:');
    await workbench.hasText('DType[float16 | bfloat16]');
  });
});

describe('a server that is killed', () => {
  it('comes back, says so, and finds the defects again', async () => {
    const before = workbench.processes('tileops-lsp');
    expect(before).toHaveLength(1);
    process.kill(before[0] ?? 0, 'SIGKILL');
    await workbench.page.locator('.notification-toast', { hasText: 'started again in 1 second' }).waitFor();
    await workbench.picture('restart');
    await expect
      .poll(() => workbench.processes('tileops-lsp').filter((id) => !before.includes(id)), { timeout: 15_000 })
      .toHaveLength(1);
    await workbench.command('Problems: Focus on Problems View');
    await workbench.problems.filter({ hasText: 'spec_only' }).first().waitFor();
  });
});

describe('the commands', () => {
  it('explain the defect under the cursor', async () => {
    await workbench.show('norm.yaml');
    await workbench.goTo(23, 15);
    await workbench.command('TileOps: Explain Defect Under Cursor');
    const page = await workbench.webview('h1:has-text("unknown-value")');
    expect(await page.locator('h2').allTextContents()).toEqual(['Wrong', 'Right']);
    await workbench.picture('explain');
  });

  it('show what a bug report needs', async () => {
    await workbench.command('TileOps: Show Debug Information');
    await workbench.hasText('comes with');
    await workbench.hasText('diagnostics: the client asks');
  });

  it('create a tileops.toml that names the folders of manifests', async () => {
    fs.rmSync(path.join(workbench.folder, 'tileops.toml'));
    await workbench.command('TileOps: Create tileops.toml');
    await workbench.tab('tileops.toml').waitFor();
    expect(fs.readFileSync(path.join(workbench.folder, 'tileops.toml'), 'utf8')).toContain(
      'manifest = ["manifest", "other"]',
    );
  });
});
