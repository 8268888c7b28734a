/** The page of the side view. Every text of a manifest or a record reaches it as a text node, never as markup. */

import { LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, TooltipComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import {
  type Entry,
  facts,
  KINDS,
  type Kind,
  labels,
  type Position,
  percent,
  type Row,
  si,
  time,
  type View,
} from './model';
import { STYLE } from './style';

echarts.use([ScatterChart, LineChart, GridComponent, TooltipComponent, SVGRenderer]);

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const host = acquireVsCodeApi();
const main = document.getElementById('main') as HTMLElement;

const style = document.createElement('style');
style.textContent = STYLE;
document.head.append(style);

type Attributes = Record<string, string | undefined>;

function make(tag: string, attributes: Attributes = {}, ...children: (Node | string | undefined)[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  for (const child of children) if (child !== undefined) element.append(child);
  return element;
}

let view: View | undefined;
let chart: echarts.ECharts | undefined;
/** The rows that have a point, in the order of the points. */
let points: Row[] = [];

window.addEventListener('message', (event: MessageEvent<{ type: string; view: View }>) => {
  if (event.data.type !== 'view') return;
  // The same again would take the focus away, and the place in the list.
  if (JSON.stringify(event.data.view) === JSON.stringify(view)) return;
  view = event.data.view;
  show(view);
});
window.addEventListener('resize', () => chart?.resize());
// A theme is a class of the body.
new MutationObserver(() => view && draw(view)).observe(document.body, { attributes: true, attributeFilter: ['class'] });

function show(view: View): void {
  const focused = document.activeElement?.getAttribute('data-key') ?? undefined;
  const scroll = document.scrollingElement?.scrollTop ?? 0;
  chart?.dispose();
  chart = undefined;
  if (view.uri === null) {
    main.replaceChildren(make('p', { class: 'empty' }, 'Open an op manifest to see its rows.'));
    return;
  }
  const rows = view.entries.flatMap((entry) => entry.rows);
  points = rows.filter((row) => row.intensity !== null && row.rate !== null && row.rate > 0 && row.intensity > 0);
  const parts: (Node | undefined)[] = [
    make('h1', {}, view.name),
    make('p', { class: 'summary', role: 'status' }, summary(view, rows)),
    view.notice === null ? undefined : notice(view.notice.text, view.notice.setting),
    points.length === 0 ? undefined : plot(view),
    ...view.entries.map((entry, at) => section(entry, at)),
  ];
  main.replaceChildren(...parts.filter((part): part is Node => part !== undefined));
  if (points.length > 0) draw(view);
  if (focused !== undefined) (main.querySelector(`[data-key="${CSS.escape(focused)}"]`) as HTMLElement | null)?.focus();
  document.scrollingElement?.scrollTo(0, scroll);
}

function summary(view: View, rows: Row[]): string {
  const many = (count: number, one: string, more: string) => `${count} ${count === 1 ? one : more}`;
  const parts = [many(view.entries.length, 'entry', 'entries'), many(rows.length, 'call', 'calls')];
  const recorded = rows.filter((row) => row.kind !== 'unrecorded');
  if (view.gpu !== null) parts.push(`${recorded.length} recorded on ${view.gpu}`);
  const ceiling = rows.filter((row) => row.kind === 'at-ceiling').length;
  if (ceiling > 0) parts.push(`${ceiling} at the ceiling`);
  const wrong = rows.filter((row) => row.kind === 'error').length;
  if (wrong > 0) parts.push(many(wrong, 'formula error', 'formula errors'));
  return parts.join(' · ');
}

function notice(text: string, name: string): HTMLElement {
  const button = make('button', { type: 'button', class: 'link' }, 'Open settings');
  button.addEventListener('click', () => host.postMessage({ type: 'command', name }));
  return make('p', { class: 'notice' }, `${text} `, button);
}

function plot(view: View): HTMLElement {
  const used = (Object.keys(KINDS) as Kind[]).filter((kind) => points.some((row) => row.kind === kind));
  const legend = make('ul', { class: 'legend', 'aria-label': 'Marks' });
  for (const kind of used) legend.append(make('li', {}, mark(kind), KINDS[kind].name));
  const roofs = view.roofs.map((roof) => roof.key).join(', ');
  const label = `Roofline plot: FLOP rate against intensity, ${points.length} calls under the roofs of ${roofs}. The list below states every point.`;
  return make('figure', {}, make('div', { id: 'plot', role: 'img', 'aria-label': label }), legend);
}

function mark(kind: Kind): HTMLElement {
  return make('span', { class: `mark ${kind}`, 'aria-hidden': 'true' }, KINDS[kind].mark);
}

function section(entry: Entry, at: number): HTMLElement {
  const id = `entry-${at}`;
  const name = make('button', { type: 'button', class: 'name', 'data-key': `${entry.op}/` }, entry.op);
  name.addEventListener('click', () => reveal(entry.at));
  const list = make('ul', { class: 'rows' });
  for (const row of entry.rows) list.append(item(entry, row));
  const body = entry.rows.length === 0 ? make('p', { class: 'empty' }, 'It has no rows.') : list;
  return make('section', { 'aria-labelledby': id }, make('h2', { id }, name), body);
}

function item(entry: Entry, row: Row): HTMLElement {
  const kind = KINDS[row.kind];
  const verdict = make('span', { class: 'verdict' }, row.efficiency === null ? kind.name : percent(row.efficiency));
  const button = make(
    'button',
    { type: 'button', class: 'row', 'data-key': `${entry.op}/${row.id}` },
    mark(row.kind),
    make('span', { class: 'case' }, row.id),
    verdict,
    make('span', { class: 'spoken' }, spoken(row)),
  );
  button.addEventListener('click', () => reveal(row.at));
  const point = points.indexOf(row);
  const light = (on: boolean) => {
    if (point >= 0) chart?.dispatchAction({ type: on ? 'highlight' : 'downplay', seriesId: 'rows', dataIndex: point });
  };
  for (const event of ['focus', 'mouseenter']) button.addEventListener(event, () => light(true));
  for (const event of ['blur', 'mouseleave']) button.addEventListener(event, () => light(false));
  button.addEventListener('keydown', step);
  const list = make('dl', { class: 'facts' });
  for (const [name, value] of facts(row))
    list.append(
      make('div', { class: name === 'Verdict' ? 'wide' : undefined }, make('dt', {}, name), make('dd', {}, value)),
    );
  const remarks = row.remarks.map((remark) => make('p', { class: row.stale ? 'remark stale' : 'remark' }, remark));
  return make('li', {}, button, list, ...remarks);
}

/** What is read out behind a row's name and efficiency. */
function spoken(row: Row): string {
  const efficiency = row.efficiency === null ? [] : ['of the speed of light', KINDS[row.kind].name];
  return [...efficiency, ...(row.stale ? ['stale'] : []), 'go to the row'].join(', ');
}

/** Arrow keys go from row to row. */
function step(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const all = [...main.querySelectorAll<HTMLElement>('button.row')];
  const at = all.indexOf(event.currentTarget as HTMLElement);
  const next =
    event.key === 'Home' ? all[0] : event.key === 'End' ? all.at(-1) : by === undefined ? undefined : all[at + by];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

function reveal(at: Position): void {
  host.postMessage({ type: 'reveal', uri: view?.uri, at });
}

/** What a mark looks like in the plot: its form tells as much as its color. */
const SYMBOLS: Record<Kind, string> = {
  error: 'path://M2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5L0,2Z',
  unrecorded: 'circle',
  priced: 'emptyCircle',
  blank: 'emptyCircle',
  anomaly: 'triangle',
  latency: 'rect',
  'at-ceiling': 'diamond',
  below: 'circle',
};

function draw(view: View): void {
  const element = document.getElementById('plot');
  if (element === null) return;
  chart ??= echarts.init(element, undefined, { renderer: 'svg' });
  const css = getComputedStyle(document.body);
  const color = (name: string) => css.getPropertyValue(name).trim();
  const ink = color('--vscode-foreground');
  const muted = color('--muted');
  const line = color('--line');
  const xs = points.map((row) => row.intensity ?? 1);
  const ys = points.map((row) => row.rate ?? 1);
  const ridges = view.roofs.map((roof) => roof.flops / roof.bandwidth);
  const low = 10 ** Math.floor(Math.log10(Math.min(...xs, ...ridges) / 2));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...xs, ...ridges) * 2));
  const bottom = 10 ** Math.floor(Math.log10(Math.min(...ys) / 2));
  const top = 10 ** Math.ceil(Math.log10(Math.max(...ys, ...view.roofs.map((roof) => roof.flops)) * 1.2));
  const exact = (value: number, unit: string) =>
    si(value, unit)
      .replace(/(\.\d*?)0+(?= |$)/, '$1')
      .replace(/\.(?= |$)/, '');
  const named = new Map(labels(view.roofs).map((group) => [group.flops, group.label]));
  const axis = {
    type: 'log' as const,
    axisLine: { lineStyle: { color: muted } },
    axisLabel: { color: muted, fontSize: 10, hideOverlap: true },
    splitLine: { lineStyle: { color: line } },
    nameTextStyle: { color: muted, fontSize: 10 },
  };
  chart.setOption(
    {
      animation: false,
      textStyle: { fontFamily: css.fontFamily },
      grid: { left: 44, right: 14, top: 24, bottom: 38 },
      xAxis: {
        ...axis,
        min: low,
        max: high,
        name: 'FLOP/B',
        nameLocation: 'middle',
        nameGap: 22,
        axisLabel: { ...axis.axisLabel, formatter: (value: number) => exact(value, '') },
      },
      yAxis: {
        ...axis,
        min: bottom,
        max: top,
        name: 'FLOP/s',
        nameGap: 8,
        axisLabel: { ...axis.axisLabel, formatter: (value: number) => exact(value, '') },
      },
      tooltip: {
        trigger: 'item',
        confine: true,
        backgroundColor: color('--vscode-editorHoverWidget-background'),
        borderColor: color('--vscode-editorHoverWidget-border') || muted,
        textStyle: { color: color('--vscode-editorHoverWidget-foreground') || ink, fontSize: 12 },
        formatter: (given: unknown) => {
          const row = points[(given as { dataIndex: number }).dataIndex];
          if (row === undefined || (given as { seriesId?: string }).seriesId !== 'rows') return '';
          const box = make(
            'div',
            {},
            make('b', {}, row.id),
            make('br'),
            `${percent(row.efficiency)} in ${time(row.timeNs)}`,
          );
          return box;
        },
      },
      series: [
        ...view.roofs.map((roof) => ({
          type: 'line' as const,
          silent: true,
          showSymbol: false,
          lineStyle: { color: ink, width: 1.5 },
          data: [
            [low, low * roof.bandwidth],
            [roof.flops / roof.bandwidth, roof.flops],
            [high, roof.flops],
          ],
          endLabel: {
            show: named.has(roof.flops),
            formatter: named.get(roof.flops) ?? '',
            color: ink,
            fontSize: 10,
            align: 'right' as const,
            offset: [-4, -8],
          },
        })),
        {
          id: 'rows',
          type: 'scatter' as const,
          symbolSize: 11,
          cursor: 'pointer',
          emphasis: { scale: 1.7, itemStyle: { borderColor: ink, borderWidth: 1.5 } },
          data: points.map((row) => ({
            value: [row.intensity, row.rate],
            symbol: SYMBOLS[row.kind],
            itemStyle: { color: color(`--${row.kind}`), opacity: row.stale ? 0.5 : 1 },
          })),
        },
      ],
    },
    { notMerge: true },
  );
  chart.off('click');
  chart.on('click', (event) => {
    const row = points[event.dataIndex];
    if (event.seriesId === 'rows' && row !== undefined) reveal(row.at);
  });
}

host.postMessage({ type: 'ready' });
