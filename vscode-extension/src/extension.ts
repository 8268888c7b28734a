/** The extension: it starts the language server where there are op manifests, and nowhere else. */

import * as vscode from 'vscode';
import { registerCommands } from './commands';
import { registerExplain } from './explain';
import { looksLikeManifest } from './manifest';
import { registerRoofline } from './roofline/view';
import { Server } from './server';
import { registerSnippets } from './snippets';
import { registerStatus } from './statusItem';
import { registerTasks } from './tasks';

let server: Server | undefined;

/** What the extension gives to others, and to its tests. */
export interface Api {
  /** Whether the language server was started. */
  readonly started: boolean;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const output = vscode.window.createOutputChannel('TileOps', { log: true });
  const trace = vscode.window.createOutputChannel('TileOps Trace', { log: true });
  const running = new Server(context, output, trace, serverSettings(context));
  server = running;
  context.subscriptions.push(output, trace, running);
  registerStatus(context, running);
  registerExplain(context, running);
  registerCommands(context, running);
  registerSnippets(context, running);
  registerTasks(context, running);
  registerRoofline(context, running);

  const startFor = async (document: vscode.TextDocument) => {
    if (!running.wanted && document.languageId === 'yaml' && looksLikeManifest(document.getText())) {
      await running.start();
    }
  };
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(startFor),
    vscode.workspace.onDidSaveTextDocument(startFor),
    vscode.workspace.onDidCreateFiles(async (event) => {
      if (event.files.some((file) => file.path.endsWith('/tileops.toml')) && !running.wanted) await running.start();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(async () => {
      // Other programs may be used from now on.
      if (running.wanted) await running.restart();
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration('tileops.server.path') && running.wanted) await running.restart();
    }),
  );
  if (await hasConfig()) await running.start();
  else for (const document of vscode.workspace.textDocuments) await startFor(document);
  return {
    get started() {
      return running.wanted;
    },
  };
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
  server = undefined;
}

/** Whether a `tileops.toml` stands in a workspace folder, or one level below. */
async function hasConfig(): Promise<boolean> {
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    for (const glob of ['tileops.toml', '*/tileops.toml']) {
      if ((await vscode.workspace.findFiles(new vscode.RelativePattern(folder, glob), null, 1)).length > 0) return true;
    }
  }
  return false;
}

/** The names of the settings that are the server's, without their section: those that were made of its schema. */
function serverSettings(context: vscode.ExtensionContext): string[] {
  const groups: { title: string; properties: object }[] = context.extension.packageJSON.contributes.configuration;
  const group = groups.find((group) => group.title === 'Language server');
  return Object.keys(group?.properties ?? {}).map((name) => name.replace(/^tileops\./, ''));
}
