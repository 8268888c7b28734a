/** The report of `tileops-roofline` in an editor tab. */

import { execFile } from 'node:child_process';
import * as fs from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import type { RowsAnswer } from './roofline/model';
import { message, type Server } from './server';
import { rooflineProgram } from './tools';

const run = promisify(execFile);

/** Makes the report of the workspace's records and opens it. */
export async function openReport(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const places = await placesOf(server);
  if (places === undefined) {
    void vscode.window.showErrorMessage('Open an op manifest first: its project says where the records are.');
    return;
  }
  if (places.records.length === 0) {
    await ask(
      'No records are configured. `tileops-bench` writes them; `records` in `tileops.toml`, or the setting, says where they are.',
      'tileops.records',
    );
    return;
  }
  if (places.profile === null) {
    await ask(
      'No GPU profile is configured. `profile` in `tileops.toml`, or the setting, names one.',
      'tileops.profile',
    );
    return;
  }
  const program = rooflineProgram(context);
  if (program === undefined) return;
  const temporary = await fs.mkdtemp(path.join(os.tmpdir(), 'tileops-report-'));
  try {
    const file = path.join(temporary, 'report.html');
    const args = [
      ...places.records,
      '--profile',
      places.profile,
      '--html',
      file,
      '--output-file',
      path.join(temporary, 'report.txt'),
    ];
    // An unhealthy run is one that its report is about.
    await run(program, args, { timeout: 60_000 }).catch((error) => {
      if (error.code !== 1) throw new Error(error.stderr?.trim() || message(error));
    });
    const panel = vscode.window.createWebviewPanel('tileops.report', 'Roofline Report', vscode.ViewColumn.Active, {
      enableScripts: true,
      localResourceRoots: [],
      retainContextWhenHidden: true,
    });
    // The page is whole: its own policy forbids it everything but its own scripts.
    panel.webview.html = await fs.readFile(file, 'utf8');
  } catch (error) {
    server.output.error(`The report: ${message(error)}`);
    void vscode.window.showErrorMessage(`The report cannot be made: ${message(error)}`);
  } finally {
    await fs.rm(temporary, { recursive: true, force: true });
  }
}

/** Where the project of the manifest before the user has its records; of any that is open where it is none. */
async function placesOf(server: Server): Promise<RowsAnswer | undefined> {
  const active = vscode.window.activeTextEditor?.document;
  const all = [...(active ? [active] : []), ...vscode.workspace.textDocuments];
  const document = all.find((one) => server.file(one.uri)?.manifest);
  return document && (await server.ask<RowsAnswer>('tileops/rows', { textDocument: { uri: document.uri.toString() } }));
}

async function ask(text: string, setting: string): Promise<void> {
  if ((await vscode.window.showInformationMessage(text, 'Open Settings')) === 'Open Settings') {
    await vscode.commands.executeCommand('workbench.action.openSettings', setting);
  }
}
