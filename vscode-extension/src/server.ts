/** The language server's life: finding it, starting it, starting it again after a crash, stopping it. */

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  type FeatureState,
  LanguageClient,
  type LanguageClientOptions,
  type ServerCapabilities,
  type ServerOptions,
  type StaticFeature,
  TransportKind,
} from 'vscode-languageclient/node';
import { Backoff } from './backoff';
import { type Located, locate, origin } from './locate';
import { count, type FileStatus, type ServerState } from './status';

/** The documents that the server is told of: whether one is part of a manifest is for the server to say. */
const SELECTOR = [
  { scheme: 'file', language: 'yaml' },
  { scheme: 'untitled', language: 'yaml' },
];

/** Finds one of the programs that the extension starts. */
export function find(
  context: vscode.ExtensionContext,
  name: string,
  setting: string,
  variable?: string,
): ReturnType<typeof locate> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  return locate({
    name,
    setting: vscode.workspace.getConfiguration('tileops').get<string>(setting, '').trim(),
    settingName: `tileops.${setting}`,
    folder: folder?.scheme === 'file' ? folder.fsPath : undefined,
    variable: variable === undefined ? undefined : { name: variable, value: process.env[variable] },
    path: process.env.PATH,
    bundle: path.join(context.extensionPath, 'server'),
    trusted: vscode.workspace.isTrusted,
    platform: process.platform,
    home: os.homedir(),
    isProgram,
  });
}

function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The language server of this window. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private located: Located | undefined;
  private timer: NodeJS.Timeout | undefined;
  private backoff = new Backoff();
  /** Which start this is: what belongs to an earlier one is let go. */
  private generation = 0;
  private work = new Map<string | number, string>();
  private files = new Map<string, FileStatus>();
  private changes = new vscode.EventEmitter<void>();

  /** Something that is shown has changed. */
  readonly onDidChange = this.changes.event;
  /** How the server is. */
  state: ServerState = { kind: 'stopped' };
  /** How often it has ended unexpectedly. */
  crashes = 0;

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly output: vscode.LogOutputChannel,
    readonly trace: vscode.LogOutputChannel,
    private readonly settings: readonly string[],
  ) {}

  /** What the server is doing, where it says so. */
  get busy(): string | undefined {
    return [...this.work.values()].at(-1);
  }

  /** The program that runs, once it was found. */
  get program(): Located | undefined {
    return this.located;
  }

  /** What the server says of a file. */
  file(uri: vscode.Uri): FileStatus | undefined {
    return this.files.get(uri.toString());
  }

  /** Whether it was started, and not stopped since. */
  get wanted(): boolean {
    return this.state.kind !== 'stopped';
  }

  /** Starts the server, where it does not run. */
  async start(): Promise<void> {
    if (this.state.kind === 'running' || this.state.kind === 'starting') return;
    const generation = ++this.generation;
    clearTimeout(this.timer);
    this.set({ kind: 'starting' });
    const found = find(this.context, 'tileops-lsp', 'server.path', 'TILEOPS_LSP');
    for (const warning of found.warnings) {
      this.output.warn(warning);
      void this.offer(vscode.window.showWarningMessage, warning, 'Open Settings');
    }
    if (found.file === undefined) {
      this.failed(
        'No language server was found: this build of the extension brings none for this platform. Put `tileops-lsp` on PATH, or name it in the setting `tileops.server.path`.',
      );
      return;
    }
    this.located = found;
    this.output.info(`Starting ${found.file} (${origin(found.origin)}).`);
    const client = this.make(found, generation);
    this.client = client;
    try {
      await client.start();
      if (generation !== this.generation) return;
      this.set({ kind: 'running' });
      this.output.info(
        `The language server runs: ${client.initializeResult?.serverInfo?.name ?? 'tileops-lsp'} ${client.initializeResult?.serverInfo?.version ?? ''}.`,
      );
    } catch (error) {
      // It has ended meanwhile, which was said already.
      if (generation !== this.generation) return;
      this.failed(`The language server ${found.file} cannot be started: ${message(error)}`);
    }
  }

  /** Stops the server. */
  async stop(): Promise<void> {
    this.generation++;
    clearTimeout(this.timer);
    const client = this.client;
    this.client = undefined;
    this.forget();
    this.set({ kind: 'stopped' });
    if (client === undefined) return;
    try {
      await client.dispose(2_000);
    } catch (error) {
      // It has ended already, or does not answer: either way it is gone.
      this.output.debug(`Stopping: ${message(error)}`);
    }
  }

  /** Stops the server and starts it anew, whatever it was doing. */
  async restart(): Promise<void> {
    await this.stop();
    this.backoff.reset();
    await this.start();
  }

  /** Asks the server something; nothing where it does not run. */
  async ask<T>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<T | undefined> {
    if (this.state.kind !== 'running' || this.client === undefined) return undefined;
    return token === undefined
      ? await this.client.sendRequest<T>(method, params)
      : await this.client.sendRequest<T>(method, params, token);
  }

  dispose(): Promise<void> {
    this.changes.dispose();
    return this.stop();
  }

  private make(found: Located, generation: number): LanguageClient {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const cwd = folder?.scheme === 'file' ? { options: { cwd: folder.fsPath } } : {};
    const options: ServerOptions = { command: found.file, transport: TransportKind.stdio, ...cwd };
    const clientOptions: LanguageClientOptions = {
      documentSelector: SELECTOR,
      outputChannel: this.output,
      traceOutputChannel: this.trace,
      progressOnInitialization: false,
      initializationOptions: this.own(vscode.workspace.getConfiguration('tileops')),
      // A failed start is said here, once.
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          if (generation === this.generation) this.ended();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: {
        workspace: {
          // The client's own settings mean nothing to the server.
          configuration: (params) =>
            params.items.map((item) =>
              item.section === 'tileops' ? this.own(vscode.workspace.getConfiguration('tileops')) : null,
            ),
        },
        handleWorkDoneProgress: (token, params, next) => {
          if (generation !== this.generation) return;
          if (params.kind === 'end') this.work.delete(token);
          else {
            const title = params.kind === 'begin' ? params.title : (this.work.get(token)?.split(':')[0] ?? '');
            this.work.set(token, params.message ? `${title}: ${params.message}` : title);
          }
          this.changes.fire();
          next(token, params);
        },
      },
    };
    const client = new LanguageClient('tileops', 'TileOps', options, clientOptions);
    client.registerFeature(new OwnCommands());
    client.onNotification('tileops/status', (status: FileStatus) => {
      this.files.set(vscode.Uri.parse(status.uri).toString(), status);
      this.changes.fire();
    });
    return client;
  }

  /** The settings that are the server's, as it reads them. */
  private own(configuration: vscode.WorkspaceConfiguration): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const name of this.settings) {
      const set = configuration.inspect(name);
      const value = set?.workspaceFolderValue ?? set?.workspaceValue ?? set?.globalValue;
      // What is not set is left to the server's own defaults.
      if (value === undefined) continue;
      const parts = name.split('.');
      const last = parts.pop();
      let place = values;
      for (const part of parts) {
        const inner = (place[part] ?? {}) as Record<string, unknown>;
        place[part] = inner;
        place = inner;
      }
      if (last !== undefined) place[last] = value;
    }
    return values;
  }

  private ended(): void {
    const starting = this.state.kind === 'starting';
    const client = this.client;
    this.client = undefined;
    this.generation++;
    this.crashes++;
    this.forget();
    // What it has registered goes with it; it cannot answer any more.
    void client?.dispose(0).catch(() => undefined);
    const decision = this.backoff.crashed(Date.now());
    if (!decision.restart) {
      this.failed(
        `The language server ended unexpectedly ${decision.crashes} times in three minutes, and is left stopped.`,
      );
      return;
    }
    const seconds = Math.round(decision.delayMs / 1_000);
    const what = starting ? 'ended while it was starting' : 'ended unexpectedly';
    const text = `The language server ${what}. It is started again in ${count(seconds, 'second', 'seconds')}.`;
    this.output.error(text);
    void this.offer(vscode.window.showWarningMessage, text, 'Show Logs');
    this.set({ kind: 'waiting', seconds });
    this.timer = setTimeout(() => void this.start(), decision.delayMs);
  }

  private failed(reason: string): void {
    this.output.error(reason);
    this.set({ kind: 'failed', reason });
    void this.offer(vscode.window.showErrorMessage, reason, 'Restart', 'Show Logs');
  }

  private async offer(
    show: (message: string, ...items: string[]) => Thenable<string | undefined>,
    text: string,
    ...items: ('Restart' | 'Show Logs' | 'Open Settings')[]
  ): Promise<void> {
    const chosen = await show(text, ...items);
    if (chosen === 'Restart') await this.restart();
    else if (chosen === 'Show Logs') this.output.show();
    else if (chosen === 'Open Settings')
      await vscode.commands.executeCommand('workbench.action.openSettings', 'tileops');
  }

  private forget(): void {
    this.work.clear();
    this.files.clear();
  }

  private set(state: ServerState): void {
    this.state = state;
    this.changes.fire();
  }
}

/** The server's commands have commands of the extension for them, by the same names: they are not registered a second time. */
class OwnCommands implements StaticFeature {
  fillClientCapabilities(): void {}
  initialize(): void {}
  getState(): FeatureState {
    return { kind: 'static' };
  }
  preInitialize(capabilities: ServerCapabilities): void {
    delete capabilities.executeCommandProvider;
  }
  clear(): void {}
}

/** What an error says. */
export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
