/** The page's style: the theme's own colors, and a color for each kind of row. */
export const STYLE = `
body {
  background: var(--vscode-sideBar-background, var(--vscode-editor-background));
  --muted: var(--vscode-descriptionForeground);
  --line: color-mix(in srgb, var(--vscode-foreground) 14%, transparent);
  --error: #c81e3a; --unrecorded: #5f6672; --priced: #5f6672; --blank: #5f6672; --anomaly: #a24a06; --latency: #7b45a8; --at-ceiling: #00714f; --below: #1f5fc4;
  padding: 0 12px 16px;
  font: var(--vscode-font-weight, normal) var(--vscode-font-size, 13px)/1.45 var(--vscode-font-family);
  color: var(--vscode-foreground);
}
body.vscode-dark, body.vscode-high-contrast:not(.vscode-high-contrast-light) {
  --error: #ff8194; --unrecorded: #a3acb8; --priced: #a3acb8; --blank: #a3acb8; --anomaly: #f5a742; --latency: #cda6ee; --at-ceiling: #3ad6a8; --below: #80b0ff;
}
body.vscode-high-contrast { --muted: var(--vscode-foreground); --line: color-mix(in srgb, var(--vscode-foreground) 35%, transparent); }
h1 { font-size: 1em; font-weight: 600; margin: 8px 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1em; font-weight: 600; margin: 14px 0 2px; }
p { margin: 2px 0; }
.summary, .empty, .notice { color: var(--muted); }
.notice { border-left: 2px solid var(--vscode-focusBorder); padding-left: 8px; margin: 8px 0; }
figure { margin: 8px -4px 0; }
#plot { height: 230px; width: 100%; }
ul { list-style: none; margin: 0; padding: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 0 12px; font-size: .9em; color: var(--muted); padding-left: 4px; }
.mark { display: inline-block; width: 1.3em; flex: none; }
.mark.error { color: var(--error); } .mark.anomaly { color: var(--anomaly); } .mark.latency { color: var(--latency); }
.mark.at-ceiling { color: var(--at-ceiling); } .mark.below { color: var(--below); } .mark.blank, .mark.priced, .mark.unrecorded { color: var(--blank); }
button { font: inherit; color: inherit; background: none; border: 1px solid transparent; border-radius: 3px; cursor: pointer; text-align: left; }
button:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: -1px; }
button.link { color: var(--vscode-textLink-foreground); padding: 0 2px; text-decoration: underline; }
button.name { font-weight: 600; padding: 1px 4px; margin-left: -4px; overflow-wrap: anywhere; }
button.name:hover, button.row:hover { background: var(--vscode-list-hoverBackground); color: var(--vscode-list-hoverForeground, inherit); }
body.vscode-high-contrast button.row:hover, body.vscode-high-contrast button.name:hover { outline: 1px dashed var(--vscode-contrastActiveBorder, currentColor); }
.rows > li { border-top: 1px solid var(--line); padding: 3px 0 5px; }
.rows > li:first-child { border-top: 0; }
button.row { display: flex; width: 100%; align-items: baseline; padding: 2px 4px; margin-left: -4px; gap: 2px; min-height: 24px; }
.case { flex: 1; min-width: 0; overflow-wrap: anywhere; }
.verdict { font-variant-numeric: tabular-nums; white-space: nowrap; padding-left: 8px; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.6em, 1fr)); gap: 0 10px; margin: 0 0 0 1.4em; font-size: .92em; }
.facts div { display: flex; gap: 5px; white-space: nowrap; }
.facts .wide { grid-column: 1 / -1; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
dt { color: var(--muted); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.remark { margin-left: 1.5em; font-size: .92em; color: var(--muted); }
.remark.stale { font-style: italic; }
`;
