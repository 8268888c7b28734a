/** The language status item: how the server is, and what the file before the user is to it. */

import * as vscode from 'vscode';
import type { Server } from './server';
import { shown } from './status';

const SEVERITY = {
  information: vscode.LanguageStatusSeverity.Information,
  warning: vscode.LanguageStatusSeverity.Warning,
  error: vscode.LanguageStatusSeverity.Error,
};

/** Shows the item for as long as the server is wanted, and keeps the context key `tileops.manifest`. */
export function registerStatus(context: vscode.ExtensionContext, server: Server): void {
  let item: vscode.LanguageStatusItem | undefined;
  let isManifest: boolean | undefined;
  let settled = false;
  const update = () => {
    // Before the server has anything to do here, other people's YAML is left as it is.
    if (!server.wanted && item === undefined && !settled) return;
    settled = true;
    const document = vscode.window.activeTextEditor?.document;
    const file = document && server.file(document.uri);
    const found = document && file ? defects(document.uri) : [];
    const errors = found.filter((one) => one.severity === vscode.DiagnosticSeverity.Error).length;
    const advisories = found.filter((one) => one.severity === vscode.DiagnosticSeverity.Warning).length;
    const what = shown(server.state, server.busy, file, errors, advisories);
    item ??= vscode.languages.createLanguageStatusItem('tileops.status', { language: 'yaml' });
    item.name = 'TileOps';
    item.text = what.text;
    item.detail = what.detail;
    item.busy = what.busy;
    item.severity = SEVERITY[what.severity];
    item.command =
      what.command === 'tileops.restartServer'
        ? { command: what.command, title: 'Restart' }
        : { command: what.command, title: 'Show Logs' };
    if (isManifest !== (file?.manifest ?? false)) {
      isManifest = file?.manifest ?? false;
      void vscode.commands.executeCommand('setContext', 'tileops.manifest', isManifest);
    }
  };
  context.subscriptions.push(
    server.onDidChange(update),
    vscode.window.onDidChangeActiveTextEditor(update),
    vscode.languages.onDidChangeDiagnostics((event) => {
      const active = vscode.window.activeTextEditor?.document.uri.toString();
      if (event.uris.some((uri) => uri.toString() === active)) update();
    }),
    { dispose: () => item?.dispose() },
  );
}

/** What the server finds wrong with a file. */
export function defects(uri: vscode.Uri): vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(uri).filter((diagnostic) => diagnostic.source === 'tileops');
}

/** A defect's code. */
export function codeOf(diagnostic: vscode.Diagnostic): string | undefined {
  const code = diagnostic.code;
  if (code === undefined) return undefined;
  return String(typeof code === 'object' ? code.value : code);
}
