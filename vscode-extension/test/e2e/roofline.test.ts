import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import type { Frame } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Workbench } from './workbench';

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const THEMES = { light: 'Light Modern', dark: 'Dark Modern', contrast: 'Dark High Contrast' };

let workbench: Workbench;
let view: Frame;

beforeAll(async () => {
  workbench = await Workbench.start({
    size: { width: 1280, height: 860 },
  });
  await workbench.open('manifest/gemm.yaml');
  await workbench.hasText('MiB');
  await workbench.command('TileOps: Focus on Roofline View');
  view = await workbench.webview('main section');
});

afterEach(async (context) => {
  if (context.task.result?.state === 'fail')
    await workbench.failed(`roofline-${context.task.name.replaceAll(/\W+/g, '-')}`);
});

afterAll(() => workbench?.stop());

describe('the Roofline view', () => {
  it('shows the rows of the file with what their records are worth', async () => {
    await view.locator('button.row').first().waitFor();
    expect(await view.locator('h2').allTextContents()).toEqual(['MatmulFwdOp']);
    const rows = view.locator('button.row');
    expect(await rows.count()).toBe(4);
    expect(await rows.first().textContent()).toMatch(
      /square-4k-float168\d\.\d %of the speed of light, At ceiling, go to the row$/,
    );
    expect(await rows.nth(2).textContent()).toMatch(/stale/);
    const facts = await view.locator('li', { hasText: 'square-4k-float16' }).locator('.facts').textContent();
    for (const fact of [
      'VerdictAt ceiling',
      'Bytes96.0 MiB',
      'FLOPs137 G',
      'Boundcompute',
      'Intensity1.37 k',
      'Time212 µs',
    ])
      expect(facts).toContain(fact);
    await view.locator('#plot svg').waitFor();
    await workbench.picture('vscode-roofline');
  });

  it('goes to a row by a click and by the keyboard', async () => {
    await view.locator('button.row', { hasText: 'llama-8b-token' }).click();
    await workbench.cursorAt(30);
    await view.locator('button.row', { hasText: 'square-4k-float16' }).focus();
    await workbench.page.keyboard.press('ArrowDown');
    await workbench.page.keyboard.press('ArrowDown');
    expect(await view.evaluate(() => document.activeElement?.textContent)).toContain('llama-8b-qkv');
    await workbench.page.keyboard.press('Enter');
    await workbench.cursorAt(29);
  });

  it('is gone through in the order that it is read', async () => {
    await view.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    const order = await view
      .locator('button, [tabindex]')
      .evaluateAll((all) => all.map((one) => `${(one as HTMLElement).tabIndex} ${one.className}`));
    expect(order).toEqual(['0 name', '0 row', '0 row', '0 row', '0 row']);
  });

  it('is used by the keyboard alone', async () => {
    const { keyboard } = workbench.page;
    await workbench.tab('gemm.yaml').click();
    await workbench.goTo(1, 1);
    await keyboard.press('F1');
    await keyboard.type('TileOps: Focus on Roofline View');
    await workbench.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: 'Roofline View' }).waitFor();
    await keyboard.press('Enter');
    await expect.poll(() => view.evaluate(() => document.hasFocus())).toBe(true);
    const focused = () =>
      view.evaluate(() => {
        const element = document.hasFocus() ? document.activeElement : null;
        return (element?.querySelector('.case') ?? element)?.textContent ?? '';
      });
    // The focus is where it was last: round to the first.
    for (let press = 0; press < 12 && (await focused()) !== 'MatmulFwdOp'; press++) await keyboard.press('Tab');
    const stops = [await focused()];
    for (let press = 0; press < 4; press++) {
      await keyboard.press('Tab');
      stops.push(await focused());
    }
    expect(stops).toEqual([
      'MatmulFwdOp',
      'square-4k-float16',
      'square-4k-bfloat16',
      'llama-8b-qkv-bfloat16',
      'llama-8b-token-bfloat16',
    ]);
    await keyboard.press('Shift+Tab');
    await keyboard.press('Enter');
    await workbench.cursorAt(29);
  });

  it('says to a screen reader what it shows', async () => {
    const heard = await view.locator('body').ariaSnapshot();
    for (const part of [
      '- heading "gemm.yaml" [level=1]',
      '- status: 1 entry · 4 calls · 4 recorded on NVIDIA H200',
      '- heading "MatmulFwdOp" [level=2]',
      '- button "MatmulFwdOp"',
      /- '?img "Roofline plot: FLOP rate against intensity, 4 calls under the roofs of .*The list below states every point\."/,
      '- list "Marks"',
      /- button "square-4k-float16 8\d\.\d % of the speed of light, At ceiling, go to the row"/,
      /- button "llama-8b-qkv-bfloat16 .*stale.*go to the row"/,
    ]) {
      if (typeof part === 'string') expect(heard).toContain(part);
      else expect(heard).toMatch(part);
    }
  });

  it.each(Object.entries(THEMES))('is accessible and readable in the %s theme', async (name, theme) => {
    await workbench.theme(theme);
    await view.waitForFunction(
      (kind) => document.body.classList.contains(kind),
      { light: 'vscode-light', dark: 'vscode-dark', contrast: 'vscode-high-contrast' }[name] ?? '',
    );
    await workbench.page.waitForTimeout(500);
    await workbench.picture(`roofline-${name}`);
    await view.evaluate(AXE);
    const violations = await view.evaluate(async () => {
      const { axe } = window as unknown as {
        axe: {
          run: (
            context: unknown,
            options: unknown,
          ) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
        };
      };
      const found = await axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      });
      return found.violations.map(
        (one) => `${one.id}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join('\n')}`,
      );
    });
    expect(violations).toEqual([]);
  });

  it('follows the text', async () => {
    await workbench.tab('gemm.yaml').click();
    await workbench.goTo(30, 10);
    await workbench.page.keyboard.type('000');
    await view.locator('li', { hasText: 'llama-8b-token' }).locator('.facts', { hasText: 'Read55.8 MiB' }).waitFor();
  });
});
