/** A real VS Code workbench: its server with a throwaway profile, and a window of it in headless Chromium. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type Browser, chromium, type Frame, type Locator, type Page } from 'playwright-core';

const HERE = import.meta.dirname;
const ROOT = path.resolve(HERE, '../..');

/** Where things are. */
export const PLACES = {
  code: path.resolve(process.env.TILEOPS_VSCODE ?? path.join(ROOT, '../target/ci/vscode/vscode')),
  vsix: path.resolve(process.env.TILEOPS_VSIX ?? path.join(ROOT, '../target/ci/tileops-linux-x64.vsix')),
  out: path.resolve(process.env.TILEOPS_SCREENSHOTS ?? path.join(ROOT, 'out/screenshots')),
  bench: path.resolve(process.env.TILEOPS_BENCH ?? path.join(ROOT, '../target/debug/tileops-bench')),
  manifest: path.join(ROOT, '../manifest'),
  workspace: path.join(HERE, 'workspace'),
};

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((file) => fs.existsSync(file));
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** What a window is opened with. */
export interface Options {
  /** Extensions beside ours, as VSIX files. */
  extensions?: string[];
  settings?: Record<string, unknown>;
  /** Files that the workspace has beside those in `workspace/`; `undefined` takes one away. */
  files?: Record<string, string | undefined>;
  environment?: Record<string, string>;
  /** Whether the window asks whether the workspace is trusted. */
  trust?: boolean;
  size?: { width: number; height: number };
}

/** A window of the workbench. */
export class Workbench {
  private constructor(
    readonly page: Page,
    private readonly browser: Browser,
    private readonly server: ChildProcess,
    private readonly port: number,
    private readonly temporary: string,
    /** The folder that is open. */
    readonly folder: string,
    private readonly log: () => string,
  ) {}

  static async start(options: Options = {}): Promise<Workbench> {
    const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'tileops-e2e-'));
    const data = path.join(temporary, 'data');
    const extensions = path.join(temporary, 'extensions');
    const folder = path.join(temporary, 'workspace');
    fs.mkdirSync(path.join(data, 'data/User'), { recursive: true });
    fs.mkdirSync(extensions);
    fs.mkdirSync(PLACES.out, { recursive: true });
    fs.cpSync(PLACES.workspace, folder, { recursive: true });
    for (const [name, text] of Object.entries(options.files ?? {})) {
      const file = path.join(folder, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      if (text === undefined) fs.rmSync(file);
      else fs.writeFileSync(file, text);
    }
    const settings = {
      'workbench.startupEditor': 'none',
      'security.workspace.trust.enabled': options.trust ?? false,
      'security.workspace.trust.startupPrompt': 'never',
      'telemetry.telemetryLevel': 'off',
      'workbench.enableExperiments': false,
      'extensions.autoCheckUpdates': false,
      'extensions.autoUpdate': false,
      'extensions.ignoreRecommendations': true,
      'git.enabled': false,
      'window.commandCenter': false,
      'chat.commandCenter.enabled': false,
      'chat.disableAIFeatures': true,
      'workbench.secondarySideBar.defaultVisibility': 'hidden',
      'editor.accessibilitySupport': 'off',
      'editor.minimap.enabled': false,
      // What a terminal shows is text then, not pixels.
      'terminal.integrated.gpuAcceleration': 'off',
      'editor.inlayHints.enabled': 'on',
      ...options.settings,
    };
    fs.writeFileSync(path.join(data, 'data/User/settings.json'), JSON.stringify(settings));
    const main = path.join(PLACES.code, 'out/server-main.js');
    const common = [
      main,
      '--server-data-dir',
      data,
      '--extensions-dir',
      extensions,
      '--accept-server-license-terms',
      '--telemetry-level',
      'off',
    ];
    for (const vsix of [PLACES.vsix, ...(options.extensions ?? [])]) {
      execFileSync(process.execPath, [...common, '--install-extension', vsix], { stdio: 'pipe' });
    }
    // No gallery: nothing is looked up on the network.
    const environment = { ...process.env, ...options.environment, EXTENSIONS_GALLERY: '{}' };
    const trust = options.trust ? [] : ['--disable-workspace-trust'];
    const args = [
      ...common,
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--without-connection-token',
      '--enable-smoke-test-driver',
      ...trust,
    ];
    const server = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment,
      detached: true,
    });
    let log = '';
    const port = await new Promise<number>((resolve, reject) => {
      const hear = (data: Buffer) => {
        log += data;
        const found = /Extension host agent listening on (\d+)/.exec(log)?.[1];
        if (found !== undefined) resolve(Number(found));
      };
      server.stdout?.on('data', hear);
      server.stderr?.on('data', hear);
      server.once('exit', () => reject(new Error(`the workbench's server ended\n${log}`)));
      setTimeout(() => reject(new Error(`the workbench's server does not listen\n${log}`)), 60_000);
    });
    if (CHROMIUM === undefined) throw new Error('there is no Chromium: apt-get install chromium');
    const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
    const page = await browser.newPage({ viewport: options.size ?? { width: 1280, height: 800 } });
    page.setDefaultTimeout(40_000);
    return new Workbench(page, browser, server, port, temporary, folder, () => log);
  }

  /** Opens the window, with a file of the workspace where one is named. */
  async open(file?: string): Promise<void> {
    const payload =
      file === undefined ? [] : [['openFile', `vscode-remote://127.0.0.1:${this.port}${path.join(this.folder, file)}`]];
    const query = `folder=${this.folder}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
    await this.page.goto(`http://127.0.0.1:${this.port}/?${query}`);
    await this.page.locator('.monaco-workbench').waitFor();
    if (file !== undefined) await this.tab(path.basename(file)).waitFor();
  }

  /** Opens the quick input by a key and writes into it; again, where it closed because the focus was still moving. */
  private async asked(key: string, text: string): Promise<Locator> {
    const input = this.page.locator('.quick-input-widget input');
    for (let tries = 1; tries < 5; tries += 1) {
      await this.page.keyboard.press(key);
      const filled = await input.fill(text, { timeout: 5_000 }).then(
        () => true,
        () => false,
      );
      if (filled) return input;
    }
    await this.page.keyboard.press(key);
    await input.fill(text);
    return input;
  }

  /** Opens a file of the workspace in the window that is there. */
  async show(file: string): Promise<void> {
    await this.asked('Control+P', file);
    // The list is refilled while the name is searched for: what Enter takes is the row that has the focus.
    await this.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: path.basename(file) }).waitFor();
    await this.page.keyboard.press('Enter');
    await this.page.locator('.tab.active', { hasText: path.basename(file) }).waitFor();
    await this.page.locator('.editor-instance .native-edit-context, .editor-instance .inputarea').first().waitFor();
  }

  /** The tab of an editor. */
  tab(name: string): Locator {
    return this.page.locator('.tab', { hasText: name });
  }

  /** Runs a command by its name, as a user does. */
  async command(name: string): Promise<void> {
    await this.asked('F1', `>${name}`);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
  }

  /** Chooses what the list before the user has under a name. */
  async choose(name: string | RegExp): Promise<void> {
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
  }

  /** Waits for a notification that says something. */
  async told(text: string | RegExp, timeout?: number): Promise<Locator> {
    const toast = this.page.locator('.notification-toast', { hasText: text }).first();
    await toast.waitFor(timeout === undefined ? {} : { timeout });
    return toast;
  }

  /** Clicks a lens until a notification says that it was taken: a click is lost where lenses are being drawn anew. */
  async lens(title: string, told: string): Promise<Locator> {
    const lens = this.page.locator('.codelens-decoration a', { hasText: title }).first();
    for (let clicks = 1; clicks < 5; clicks += 1) {
      await lens.click();
      const toast = await this.told(told, 8_000).catch(() => undefined);
      if (toast !== undefined) return toast;
    }
    await lens.click();
    return this.told(told);
  }

  /** Puts the cursor at a line and a column, from one. */
  async goTo(line: number, column: number): Promise<void> {
    const input = await this.asked('Control+G', `:${line}:${column}`);
    await this.page.keyboard.press('Enter');
    await input.waitFor({ state: 'hidden' });
    await this.page.locator('.statusbar-item', { hasText: `Ln ${line}, Col ${column}` }).waitFor();
  }

  /** The rows of the problems panel. */
  get problems(): Locator {
    return this.page.locator('.markers-panel .monaco-list-row');
  }

  /** The text of the editor, as far as it is on the screen. */
  async text(): Promise<string> {
    const lines = await this.page.locator('.editor-instance .view-lines .view-line').evaluateAll((all) =>
      all
        .map((line) => ({ top: Number.parseFloat((line as HTMLElement).style.top), text: line.textContent ?? '' }))
        .sort((a, b) => a.top - b.top)
        .map((line) => line.text),
    );
    return lines.join('\n').replaceAll('\u00a0', ' ');
  }

  /** The text of a line that is on the screen, from one; previews in it included. */
  async line(number: number): Promise<string> {
    const place = this.page.locator('.margin-view-overlays > div', {
      has: this.page.locator('.line-numbers', { hasText: new RegExp(`^${number}$`) }),
    });
    const top = await place.first().evaluate((line) => (line as HTMLElement).style.top);
    const text = await this.page
      .locator(
        `.editor-instance .view-lines .view-line[style*="top:${top}"], .editor-instance .view-lines .view-line[style*="top: ${top}"]`,
      )
      .first()
      .textContent();
    return (text ?? '').replaceAll('\u00a0', ' ');
  }

  /** Waits until the editor's text has a part. */
  async hasText(part: string): Promise<void> {
    await this.page.waitForFunction(
      (part) =>
        [...document.querySelectorAll('.editor-instance .view-lines .view-line')].some((line) =>
          line.textContent?.replaceAll('\u00a0', ' ').includes(part),
        ),
      part,
    );
  }

  /** Before the window opens: takes note of when an editor has text, and when something is there. */
  async watchFor(selector: string): Promise<void> {
    await this.page.addInitScript((selector) => {
      const times: { text?: number; found?: number } = {};
      Object.assign(window, { tileopsTimes: times });
      new MutationObserver(() => {
        if (document.querySelector('.view-line .mtk1')) times.text ??= performance.now();
        if (document.querySelector(selector)) times.found ??= performance.now();
      }).observe(document, { subtree: true, childList: true });
    }, selector);
  }

  /** When that was, in milliseconds. */
  times(): Promise<{ text: number; found: number }> {
    return this.page.evaluate(
      () => (window as unknown as { tileopsTimes: { text: number; found: number } }).tileopsTimes,
    );
  }

  /** The page of a webview, by something that is in it. */
  async webview(selector: string): Promise<Frame> {
    const end = Date.now() + 40_000;
    while (Date.now() < end) {
      for (const frame of this.page.frames()) {
        if (
          frame !== this.page.mainFrame() &&
          (await frame
            .locator(selector)
            .count()
            .catch(() => 0)) > 0
        )
          return frame;
      }
      await this.page.waitForTimeout(100);
    }
    throw new Error(`no webview has ${selector}`);
  }

  /** Waits until the cursor is on a line. */
  async cursorAt(line: number): Promise<void> {
    await this.page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor();
  }

  /** Changes the color theme, as a user does. */
  async theme(name: string): Promise<void> {
    await this.command('Preferences: Color Theme');
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: name });
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Light' }).first().waitFor();
    await this.page.locator('.quick-input-widget input').fill(name);
    await row.first().click();
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  /** Keeps a picture. */
  async picture(name: string): Promise<void> {
    // What the mouse happens to point at says nothing.
    await this.page.mouse.move(900, 720);
    await this.page.waitForTimeout(400);
    await this.page.screenshot({ path: path.join(PLACES.out, `${name}.png`) });
  }

  /** The process ids of the programs of this window's extension that have a name. */
  processes(name: string): number[] {
    const found: number[] = [];
    for (const entry of fs.readdirSync('/proc')) {
      if (!/^\d+$/.test(entry)) continue;
      try {
        if (
          fs.readlinkSync(`/proc/${entry}/exe`).startsWith(this.temporary) &&
          fs.readFileSync(`/proc/${entry}/comm`, 'utf8').trim() === name
        ) {
          found.push(Number(entry));
        }
      } catch {
        // It has ended, or is not ours to look at.
      }
    }
    return found;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    const gone = new Promise((resolve) => this.server.once('exit', resolve));
    const { pid } = this.server;
    if (pid !== undefined && this.server.exitCode === null) {
      process.kill(-pid, 'SIGTERM');
      const late = new Promise((resolve) => setTimeout(resolve, 5_000, 'late'));
      if ((await Promise.race([gone, late])) === 'late') process.kill(-pid, 'SIGKILL');
    }
    fs.rmSync(this.temporary, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Keeps a picture and the log of what failed. */
  async failed(name: string): Promise<void> {
    await this.picture(`FAILED-${name}`).catch(() => undefined);
    console.error(this.log().slice(-1_000));
    const logs = path.join(this.temporary, 'data');
    for (const name of fs.readdirSync(logs, { recursive: true, encoding: 'utf8' })) {
      if (/TileOps\.log$/.test(name)) console.error(name, fs.readFileSync(path.join(logs, name), 'utf8').slice(-3_000));
    }
  }
}
