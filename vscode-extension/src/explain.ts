/** The page of a defect code, beside the text that has the defect. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { find, type Server } from './server';
import { codeOf, defects } from './statusItem';

const SCHEME = 'tileops-defect';
const run = promisify(execFile);

/** Registers `TileOps: Explain Defect Under Cursor`. */
export function registerExplain(context: vscode.ExtensionContext, server: Server): void {
  const provider: vscode.TextDocumentContentProvider = {
    async provideTextDocumentContent(uri) {
      const program = server.program ?? find(context, 'tileops-lsp', 'server.path', 'TILEOPS_LSP');
      if (program.file === undefined) throw new Error('no language server was found');
      const code = uri.path.replace(/^\//, '').replace(/\.md$/, '');
      const { stdout } = await run(program.file, ['--explain', code], { timeout: 10_000 });
      return stdout;
    },
  };
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, provider),
    vscode.commands.registerCommand('tileops.explainDefect', async (code?: unknown) => {
      const wanted = typeof code === 'string' ? code : await underCursor();
      if (wanted === undefined) return;
      const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${wanted}.md` });
      await vscode.commands.executeCommand('markdown.showPreviewToSide', uri);
    }),
  );
}

/** The code of the defect under the cursor; the user chooses where there are several, or none just there. */
async function underCursor(): Promise<string | undefined> {
  const editor = vscode.window.activeTextEditor;
  const all = editor ? defects(editor.document.uri) : [];
  const here = all.filter((one) => editor && one.range.intersection(editor.selection) !== undefined);
  const codes = new Map<string, string>();
  for (const one of here.length > 0 ? here : all) {
    const code = codeOf(one);
    if (code !== undefined && !codes.has(code)) codes.set(code, one.message.split('\n')[0] ?? '');
  }
  if (codes.size === 0) {
    void vscode.window.showInformationMessage('There is no defect in this file.');
    return undefined;
  }
  if (here.length > 0 && codes.size === 1) return [...codes.keys()][0];
  const items = [...codes].map(([label, detail]) => ({ label, detail }));
  const placeHolder = here.length > 0 ? 'Which defect?' : 'There is no defect under the cursor. The file has these';
  return (await vscode.window.showQuickPick(items, { placeHolder }))?.label;
}
