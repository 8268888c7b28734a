import * as fs from 'node:fs';
import * as path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Workbench } from './workbench';

let workbench: Workbench;

/** A task of a project's own. */
const OWN = { type: 'tileops', task: 'rows', op: 'Matmul*', paths: ['manifest/gemm.yaml'], label: 'rows of gemm' };

beforeAll(async () => {
  workbench = await Workbench.start({
    files: { '.vscode/tasks.json': JSON.stringify({ version: '2.0.0', tasks: [OWN] }) },
  });
  await workbench.open('manifest/norm.yaml');
  await workbench.page.locator('.squiggly-error').first().waitFor({ state: 'attached' });
});

afterEach(async (context) => {
  if (context.task.result?.state === 'fail')
    await workbench.failed(`tasks-${context.task.name.replaceAll(/\W+/g, '-')}`);
});

afterAll(() => workbench?.stop());

/** Runs one of the tasks that the extension finds. */
async function run(name: string): Promise<void> {
  await workbench.command('Tasks: Run Task');
  await workbench.choose('Show All Tasks');
  await workbench.choose(name);
}

/** What the terminal shows. */
const terminal = () => workbench.page.locator('.terminal-wrapper.active .xterm-rows');

describe('the tasks', () => {
  it('judge the manifests in a terminal, and every defect is a problem once', async () => {
    await run('check the manifests');
    await expect.poll(() => terminal().textContent(), { timeout: 30_000 }).toContain('unknown-name');
    await workbench.picture('task');
    await workbench.command('Problems: Focus on Problems View');
    const spec = workbench.problems.filter({ hasText: 'spec_only' });
    await spec.first().waitFor();
    await workbench.page.waitForTimeout(1_000);
    expect(await spec.count()).toBe(1);
    // It is the server's, with what is meant and the page of its code.
    expect(await spec.locator('a', { hasText: 'unknown-value' }).count()).toBe(1);
    await workbench.picture('vscode-problems');
  });

  it('print the calls of the rows', async () => {
    await run('print the calls of the rows');
    await expect.poll(() => terminal().textContent()).toMatch(/\d+ calls/);
  });

  it('are what tasks.json says', async () => {
    await workbench.command('Tasks: Run Task');
    await workbench.choose('rows of gemm');
    await expect.poll(() => terminal().textContent(), { timeout: 30_000 }).toContain('llama-8b-token');
  });
});

describe('the snippets', () => {
  /** Types a word where the cursor is and accepts the snippet of that name. */
  async function accept(word: string): Promise<void> {
    await workbench.page.keyboard.type(word);
    await workbench.page.keyboard.press('Control+Space');
    const row = workbench.page
      .locator('.suggest-widget.visible .monaco-list-row', { hasText: new RegExp(`^${word}`) })
      .first();
    await row.waitFor();
    await row.click();
    await workbench.page.locator('.suggest-widget.visible').waitFor({ state: 'detached' });
  }

  it('give a row among the workloads', async () => {
    await workbench.show('gemm.yaml');
    await workbench.goTo(30, 1);
    await workbench.page.keyboard.press('End');
    await workbench.page.keyboard.press('Enter');
    await accept('row');
    await workbench.page.keyboard.press('Escape');
    await workbench.hasText('  - {M: 4096, dtype_cases: [{T: bfloat16}], label: label}');
  });

  it('give a family among the types', async () => {
    await workbench.goTo(15, 1);
    await workbench.page.keyboard.press('End');
    await workbench.page.keyboard.press('Enter');
    await workbench.page.keyboard.press('Home');
    await workbench.page.keyboard.type('      ');
    await accept('family');
    await workbench.page.keyboard.press('Escape');
    await workbench.hasText('params: {transposed: Bool, R: Dim, C: Dim}');
  });
});

describe('the walkthrough', () => {
  it('has four steps, each with its page, and creates a tileops.toml', async () => {
    fs.rmSync(path.join(workbench.folder, 'tileops.toml'));
    await workbench.command('Welcome: Open Walkthrough');
    await workbench.choose('Get Started with TileOps');
    const { page } = workbench;
    const steps = page.locator('.getting-started-step');
    await steps.first().waitFor();
    expect(await steps.locator('.step-title').allTextContents()).toEqual([
      'Say where the manifest is',
      'Write an entry',
      'Understand a defect',
      'See the roofline',
    ]);
    for (const [step, words] of [
      ['Write an entry', 'ScaleFwdOp'],
      ['Understand a defect', 'points at the characters'],
      ['See the roofline', 'speed of light'],
      ['Say where the manifest is', 'optional-coverage'],
    ] as const) {
      await steps.filter({ hasText: step }).locator('.step-title').click();
      await workbench.webview(`body:has-text("${words}")`);
    }
    await workbench.picture('walkthrough');
    await steps.locator('.monaco-button', { hasText: 'Create tileops.toml' }).click();
    await workbench.tab('tileops.toml').waitFor();
    expect(fs.readFileSync(path.join(workbench.folder, 'tileops.toml'), 'utf8')).toContain('manifest = ["manifest"]');
  });
});
