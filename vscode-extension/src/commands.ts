/** The commands, as far as they have no file of their own. */

import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { origin } from './locate';
import { configText, looksLikeManifest } from './manifest';
import { openReport } from './report';
import { message, type Server } from './server';
import { taskOfRows } from './tasks';
import { benchProgram, folderOf } from './tools';

/** Registers the commands. */
export function registerCommands(context: vscode.ExtensionContext, server: Server): void {
  const register = (name: string, action: (...args: unknown[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, action));
  register('tileops.restartServer', () => server.restart());
  register('tileops.showLogs', () => server.output.show());
  register('tileops.showDebugInfo', () => showDebugInfo(context, server));
  register('tileops.priceRows', (op, uri) => runRows(context, server, 'price', op, uri));
  register('tileops.benchRows', (op, uri) => runRows(context, server, 'bench', op, uri));
  register('tileops.openReport', () => openReport(context, server));
  register('tileops.createConfig', () => createConfig());
}

async function showDebugInfo(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const program = server.program;
  const lines = [
    `extension: ${context.extension.packageJSON.version}`,
    `editor: ${vscode.env.appName} ${vscode.version}, ${vscode.env.uiKind === vscode.UIKind.Web ? 'web' : 'desktop'}${vscode.env.remoteName ? `, remote ${vscode.env.remoteName}` : ''}`,
    `platform: ${os.platform()} ${os.arch()} ${os.release()}`,
    `trusted: ${vscode.workspace.isTrusted ? 'yes' : 'no'}`,
    `server: ${program ? `${program.file} (${origin(program.origin)})` : 'not started'}`,
    `state: ${server.state.kind}${server.state.kind === 'failed' ? `, ${server.state.reason}` : ''}`,
    `crashes: ${server.crashes}`,
  ];
  let answer: string;
  try {
    answer = (await server.ask<{ text: string }>('tileops/debugInfo', null))?.text ?? 'it does not run\n';
  } catch (error) {
    answer = `it does not answer: ${message(error)}\n`;
  }
  const content = `# TileOps: debug information\n\n## Extension\n\n${lines.join('\n')}\n\n## Language server\n\n${answer}`;
  const document = await vscode.workspace.openTextDocument({ language: 'markdown', content });
  await vscode.window.showTextDocument(document);
}

/** Runs the rows of an op: of the one given, else of the entry that the cursor is in, else of all of the manifest. */
async function runRows(
  context: vscode.ExtensionContext,
  server: Server,
  task: 'price' | 'bench',
  asked: unknown,
  of: unknown,
): Promise<void> {
  // A lens names the op and its document; else it is what is before the user.
  const editor = vscode.window.activeTextEditor;
  const uri = typeof of === 'string' ? vscode.Uri.parse(of) : editor?.document.uri;
  const folder = folderOf(uri);
  if (folder === undefined) {
    void vscode.window.showErrorMessage('Open the folder that the manifest is in: its rows are run there.');
    return;
  }
  if (benchProgram(context) === undefined) return;
  const op = typeof asked === 'string' ? asked : editor && entryAt(editor.document, editor.selection.active.line);
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri?.toString());
  // The program reads what is on disk.
  if (document?.isDirty && !(await document.save())) return;
  const manifest = uri && server.file(uri)?.manifest ? uri : folder.uri;
  const made = await taskOfRows(context, server, task, op, manifest, folder);
  if (made === undefined) return;
  await makeFolderOf(made, folder);
  const title = `${task === 'price' ? 'Pricing' : 'Benching'} the rows of ${op ?? 'every op'}`;
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (_, token) => {
      const execution = await vscode.tasks.executeTask(made);
      const code = await new Promise<number | undefined>((resolve) => {
        const ended = vscode.tasks.onDidEndTaskProcess((event) => {
          if (event.execution !== execution) return;
          ended.dispose();
          resolve(event.exitCode);
        });
        token.onCancellationRequested(() => execution.terminate());
      });
      server.output.info(`${title}: exit code ${code ?? 'none'}.`);
      if (code === 0) await vscode.commands.executeCommand('tileops.refreshRoofline');
      else if (code !== undefined && !token.isCancellationRequested) {
        void vscode.window.showErrorMessage(`${title} failed with exit code ${code}; the terminal says why.`);
      }
    },
  );
}

/** The folder of the records that a task writes: it may be the first to write some. */
async function makeFolderOf(task: vscode.Task, folder: vscode.WorkspaceFolder): Promise<void> {
  const { out } = task.definition;
  if (typeof out !== 'string') return;
  const cwd = task.execution instanceof vscode.ProcessExecution ? task.execution.options?.cwd : undefined;
  const file = path.resolve(cwd ?? folder.uri.fsPath, out);
  await vscode.workspace.fs.createDirectory(vscode.Uri.file(path.dirname(file)));
}

/** The name of the entry that a line is in. */
function entryAt(document: vscode.TextDocument, line: number): string | undefined {
  for (let at = line; at >= 0; at--) {
    const name = /^([A-Za-z_]\w*)[ \t]*:/.exec(document.lineAt(at).text)?.[1];
    if (name !== undefined) return name.endsWith('Op') ? name : undefined;
  }
  return undefined;
}

async function createConfig(): Promise<void> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const folder = folders.length > 1 ? await vscode.window.showWorkspaceFolderPick() : folders[0];
  if (folder === undefined) {
    if (folders.length === 0) void vscode.window.showErrorMessage('Open a folder first: `tileops.toml` stands in it.');
    return;
  }
  const uri = vscode.Uri.joinPath(folder.uri, 'tileops.toml');
  const there = await vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
  if (!there) {
    const edit = new vscode.WorkspaceEdit();
    edit.createFile(uri, { contents: new TextEncoder().encode(configText(await manifestFolders(folder))) });
    await vscode.workspace.applyEdit(edit);
  }
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
}

/** The folders that hold manifests by their looks, relative to `folder`; `manifest` where there are none. */
async function manifestFolders(folder: vscode.WorkspaceFolder): Promise<string[]> {
  const files = await vscode.workspace.findFiles(
    new vscode.RelativePattern(folder, '**/*.{yaml,yml}'),
    '**/{node_modules,target,.git}/**',
    500,
  );
  const found = new Set<string>();
  for (const file of files) {
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
    if (!looksLikeManifest(text)) continue;
    const relative = path.posix.dirname(path.posix.relative(folder.uri.path, file.path));
    found.add(relative === '' ? '.' : relative);
  }
  return found.size === 0 ? ['manifest'] : [...found].sort();
}
