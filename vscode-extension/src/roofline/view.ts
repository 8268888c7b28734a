/** The side view "Roofline": the rows of the manifest before the user, with what their last records are worth. */

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { message, type Server } from '../server';
import { type Position, type RowsAnswer, type View, viewOf } from './model';

const ID = 'tileops.roofline';
/** How long a text rests before its rows are asked for again. */
const REST_MS = 300;

/** What the page says. */
type FromPage =
  | { type: 'ready' }
  | { type: 'reveal'; uri: string; at: Position }
  | { type: 'command'; name: 'records' | 'profile' | 'price' };

/** Registers the view. */
export function registerRoofline(context: vscode.ExtensionContext, server: Server): void {
  const provider = new Provider(context, server);
  context.subscriptions.push(
    provider,
    vscode.window.registerWebviewViewProvider(ID, provider),
    vscode.commands.registerCommand('tileops.refreshRoofline', () => provider.soon()),
  );
}

class Provider implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private shown: vscode.Uri | undefined;
  private timer: NodeJS.Timeout | undefined;
  private asked = 0;
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    // The server reads records when they change; the view asks it a moment later.
    const watcher = vscode.workspace.createFileSystemWatcher('**/{*.jsonl,*.jsonl.zst,*.yaml,*.yml,tileops.toml}');
    const soon = () => this.soon();
    this.subscriptions.push(
      watcher,
      watcher.onDidChange(soon),
      watcher.onDidCreate(soon),
      watcher.onDidDelete(soon),
      server.onDidChange(() => this.soon()),
      vscode.window.onDidChangeActiveTextEditor(() => this.soon()),
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document.uri.toString() === this.shown?.toString()) this.soon();
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('tileops')) this.soon();
      }),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of this.subscriptions) one.dispose();
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    const dist = vscode.Uri.joinPath(this.context.extensionUri, 'dist');
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.onDidDispose(() => {
      this.view = undefined;
    });
    view.onDidChangeVisibility(() => this.soon());
    view.webview.onDidReceiveMessage((said: FromPage) => this.hear(said));
    view.webview.html = page(view.webview, vscode.Uri.joinPath(dist, 'roofline.js'));
  }

  private async hear(said: FromPage): Promise<void> {
    switch (said.type) {
      case 'ready':
        await this.update();
        break;
      case 'reveal': {
        const at = new vscode.Position(said.at.line, said.at.character);
        const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(said.uri));
        const options = { selection: new vscode.Range(at, at), viewColumn: columnOf(document.uri) };
        const editor = await vscode.window.showTextDocument(document, options);
        editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
        break;
      }
      case 'command':
        if (said.name === 'price') await vscode.commands.executeCommand('tileops.priceRows');
        else await vscode.commands.executeCommand('workbench.action.openSettings', `tileops.${said.name}`);
        break;
    }
  }

  /** Asks the server, and shows what it says. */
  soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.update(), REST_MS);
  }

  private async update(): Promise<void> {
    const view = this.view;
    if (view === undefined || !view.visible) return;
    const asked = ++this.asked;
    const active = vscode.window.activeTextEditor?.document.uri;
    // What is looked at beside a manifest, a report or a page of documentation, leaves the view as it is.
    if (active && this.server.file(active)?.manifest) this.shown = active;
    else if (active?.scheme === 'file' || !this.open(this.shown)) this.shown = undefined;
    const made = this.shown === undefined ? nothing() : await this.make(this.shown);
    if (asked === this.asked && made !== undefined) {
      view.description = made.uri === null ? '' : made.name;
      await view.webview.postMessage({ type: 'view', view: made });
    }
  }

  private open(uri: vscode.Uri | undefined): boolean {
    return vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri?.toString());
  }

  private async make(uri: vscode.Uri): Promise<View | undefined> {
    let answer: RowsAnswer | undefined;
    try {
      answer = await this.server.ask<RowsAnswer>('tileops/rows', { textDocument: { uri: uri.toString() } });
    } catch (error) {
      // The text has changed meanwhile, and is asked about again.
      this.server.output.debug(`tileops/rows: ${message(error)}`);
      this.soon();
      return undefined;
    }
    return answer === undefined ? nothing() : viewOf(uri.toString(), answer);
  }
}

function nothing(): View {
  return { uri: null, name: '', entries: [], gpu: null, roofs: [], notice: null };
}

function columnOf(uri: vscode.Uri): vscode.ViewColumn {
  const editor = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString());
  return editor?.viewColumn ?? vscode.ViewColumn.Active;
}

function page(webview: vscode.Webview, script: vscode.Uri): string {
  const nonce = randomBytes(16).toString('hex');
  // The plot places its texts by styles of their own.
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Roofline</title>
</head>
<body>
<main id="main"></main>
<script nonce="${nonce}" src="${webview.asWebviewUri(script)}"></script>
</body>
</html>`;
}
