"use strict";
(() => {
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const PAGE = 100;
  // What many rows state alike is in the data once, and a row has its place.
  for (const [holder, field] of DATA.rows.flatMap((r) => [[r, "device"], [r, "run"], [r.timing, "policy"]])) {
    if (holder && typeof holder[field] === "number") holder[field] = DATA.shared[holder[field]];
  }
  const $ = (id) => document.getElementById(id);

  // Every text of a record reaches the page as a text node or an attribute, never as markup.
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };

  // Numbers.
  const si = (value, unit) => {
    if (value === null || value === undefined) return "–";
    const prefixes = ["", "k", "M", "G", "T", "P", "E"];
    let at = 0;
    while (Math.abs(value) >= 999.5 && at + 1 < prefixes.length) { value /= 1000; at += 1; }
    const digits = at === 0 && Number.isInteger(value) ? String(value) : Math.abs(value) > 0 && Math.abs(value) < 0.01 ? value.toExponential(1) : value.toPrecision(3);
    return `${digits} ${prefixes[at]}${unit}`.trim();
  };
  const time = (ns) => {
    if (ns === null || ns === undefined) return "–";
    const [value, unit] = ns < 999.5 ? [ns, "ns"] : ns < 999.5e3 ? [ns / 1e3, "µs"] : ns < 999.5e6 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
    return `${Number.isInteger(value) && value < 1000 ? value : value.toPrecision(3)} ${unit}`;
  };
  const percent = (value) => (value === null || value === undefined ? "–" : `${value > 0 && value < 0.01 ? Number((value * 100).toPrecision(2)) : (value * 100).toFixed(1)} %`);
  const times = (value) => (value === null || value === undefined ? "–" : `${value.toPrecision(3)}×`);
  const plural = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

  // What a row is, by the first of these that holds.
  const KINDS = [
    { id: "error", name: "Formula error", mark: "✖", symbol: "path://M2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5L0,2Z", is: (r) => r.formula_errors.length > 0 },
    { id: "blank", name: "No reading", mark: "○", symbol: "none", is: (r) => r.efficiency === null },
    { id: "anomaly", name: "Anomaly", mark: "▲", symbol: "triangle", is: (r) => r.verdict === "anomaly" },
    { id: "latency", name: "Latency-bound", mark: "■", symbol: "rect", is: (r) => r.latency_bound },
    { id: "at-ceiling", name: "At ceiling", mark: "◆", symbol: "diamond", is: (r) => r.verdict === "at_ceiling" },
    { id: "below", name: "Below the ceiling", mark: "●", symbol: "circle", is: () => true },
  ];
  const rows = DATA.rows.map((record, index) => {
    const kind = KINDS.find((k) => k.is(record));
    const peer = Object.entries(record.peers_ns)[0] ?? null;
    const rate = record.actual_ns && record.flops ? record.flops / record.actual_ns * 1e9 : null;
    const speedup = record.against_best_peer ? 1 / record.against_best_peer : null;
    return {
      index, record, kind, peer, rate, speedup,
      text: `${record.op} ${record.case}`.toLowerCase(),
      point: rate && record.intensity ? [Math.log10(record.intensity), Math.log10(rate)] : null,
    };
  });
  const remark = (row) => {
    const parts = [row.kind.id === "blank" ? row.record.blank_reason : row.kind.name];
    if (row.kind.id === "error" && row.record.blank_reason) parts.push(row.record.blank_reason);
    if (row.kind.id === "anomaly" && row.record.latency_bound) parts.push("latency-bound");
    if (row.record.fits_l2) parts.push("fits L2");
    return parts.join(", ");
  };
  const mark = (kind) => make("span", { class: "mark", "aria-hidden": "true", style: `color: var(--${kind.id})` }, kind.mark);
  const breach = (b) => {
    const unit = b.unit.replace("bytes/s", "B/s");
    return `${si(b.rate, unit)} is above the theoretical ${si(b.ceiling, unit)} of ${b.roof}`;
  };

  // Theme.
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("tileops-theme"); } catch { /* A page from a file may have no storage. */ }
  const dark = () => (chosen ? chosen === "dark" : wanted.matches);
  const applyTheme = () => {
    document.documentElement.dataset.theme = dark() ? "dark" : "light";
    $("theme").textContent = dark() ? "Light theme" : "Dark theme";
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  applyTheme();

  // State.
  const state = { visible: rows, selected: null, open: false, sort: { column: "efficiency", down: false }, shown: PAGE, zoom: null };
  const filters = { text: $("text"), family: $("family"), dtype: $("dtype"), verdict: $("verdict") };

  // Fixed parts.
  document.title = `Roofline · ${DATA.gpu}`;
  $("gpu").textContent = `on ${DATA.gpu}`;
  $("source").textContent = [
    `Memory ${si(DATA.profile.hbm.effective, "B/s")} effective of ${si(DATA.profile.hbm.theoretical, "B/s")}`,
    DATA.profile.source ? `profile: ${DATA.profile.source}` : null,
  ].filter(Boolean).join(" · ");
  const summary = DATA.summary;
  const tile = (name, value, of) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value, of ? make("small", {}, ` ${of}`) : null));
  $("summary").append(
    tile("Rows with a reading", summary.priced.toLocaleString("en"), `of ${summary.rows.toLocaleString("en")}`),
    tile("Median efficiency", percent(summary.median_efficiency)),
    tile("At ceiling", summary.at_ceiling.toLocaleString("en"), summary.priced ? percent(summary.at_ceiling / summary.priced) : null),
    tile("Latency-bound", summary.latency_bound.toLocaleString("en")),
    tile("Anomalies", summary.anomalies.toLocaleString("en")),
    tile("Formula errors", summary.formula_errors.toLocaleString("en")),
    ...(summary.with_peer ? [tile("Behind a peer", summary.behind_a_peer.toLocaleString("en"), `of ${summary.with_peer.toLocaleString("en")}`)] : []),
  );
  const wrong = rows.filter((row) => row.kind.id === "error");
  $("errors").hidden = wrong.length === 0;
  $("error-list").append(...wrong.map((row) => {
    const button = make("button", { type: "button" }, make("b", {}, `${row.record.op} ${row.record.case}`), `: ${row.record.formula_errors.map(breach).join("; ")}`);
    button.addEventListener("click", () => select(row, true));
    return make("li", {}, button);
  }));
  const options = (element, all, values) =>
    element.append(make("option", { value: "" }, all), ...values.map(([value, name]) => make("option", { value }, name)));
  const distinct = (field) => [...new Set(rows.map((row) => row.record[field]).filter(Boolean))].sort().map((v) => [v, v]);
  for (const [field, all] of [["family", "All families"], ["dtype", "All dtypes"]]) {
    const values = distinct(field);
    options(filters[field], all, values);
    filters[field].closest("label").hidden = values.length === 0;
    if (values.length === 0) filters[field].closest("label").style.display = "none";
  }
  const present = KINDS.filter((kind) => rows.some((row) => row.kind === kind));
  options(filters.verdict, "All verdicts", present.map((kind) => [kind.id, kind.name]));
  $("legend").append(...present.filter((kind) => kind.symbol !== "none").map((kind) => make("li", {}, mark(kind), kind.name)));
  if (summary.with_peer === 0) {
    $("peers-card").remove();
    document.querySelector(".pair").classList.add("one");
  }

  // Filters.
  const filter = () => {
    const asked = filters.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    state.visible = rows.filter((row) =>
      asked.every((word) => row.text.includes(word))
      && (!filters.family.value || row.record.family === filters.family.value)
      && (!filters.dtype.value || row.record.dtype === filters.dtype.value)
      && (!filters.verdict.value || row.kind.id === filters.verdict.value));
    state.shown = PAGE;
    $("count").textContent = `${state.visible.length.toLocaleString("en")} of ${plural(rows.length, "row")}`;
    drawTable();
    drawPlots();
  };
  let pending = 0;
  $("filters").addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(filter, 120); });
  $("filters").addEventListener("reset", () => setTimeout(filter));
  $("filters").addEventListener("submit", (event) => { event.preventDefault(); filter(); });

  // Facts of one row.
  const facts = (pairs) => make("dl", {}, ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== "–")
    .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  // A value in words: `M 4096, axes [0, 1]`.
  const plain = (value) => {
    if (Array.isArray(value)) return `[${value.map(plain).join(", ")}]`;
    if (value !== null && typeof value === "object") return Object.entries(value).map(([name, inner]) => `${name} ${plain(inner)}`).join(", ");
    return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(4))) : String(value);
  };
  // What an object says beside the fields that are told in words of their own.
  const rest = (object, ...told) => Object.entries(object ?? {}).filter(([name]) => !told.includes(name)).map(([name, value]) => [name, plain(value)]);
  const named = (object) => facts(rest(object));
  const inUnits = (value, name) => (value === null || value === undefined ? null : `${plain(value)} ${name}`);
  const between = (low, high) => (low && high ? `${time(low)} to ${time(high)}` : null);
  const factsOf = (row) => {
    const r = row.record;
    const t = r.timing ?? {};
    const clocks = t.clocks ?? {};
    const part = (title, list) => (list.childElementCount ? [make("div", {}, make("h4", {}, title), list)] : []);
    return [
      make("div", {},
        make("h3", {}, r.op),
        make("p", { class: "muted" }, r.case),
        make("p", {}, mark(row.kind), remark(row)),
        ...r.formula_errors.map((b) => make("p", {}, breach(b)))),
      ...part("Speed of light", facts([
        ["Efficiency", percent(r.efficiency)], ["Bound", r.bound], ["Measured", time(r.actual_ns)], ["Speed of light", time(r.sol_ns)],
        ["Memory time", time(r.memory_ns)], ["Compute time", time(r.compute_ns)],
      ])),
      ...part("Work", facts([
        ["FLOPs", si(r.flops ?? null, "FLOP")], ["Bytes", si(r.bytes ?? null, "B")], ["Bytes read", si(r.read_bytes ?? null, "B")], ["Intensity", r.intensity === null ? null : si(r.intensity, "FLOP/B")],
        ["Rate", row.rate ? si(row.rate, "FLOP/s") : null],
        ["Bandwidth", r.actual_ns && r.bytes ? si(r.bytes / r.actual_ns * 1e9, "B/s") : null],
        ["Roof", r.roof_key], ["Family", r.family], ["Dtype", r.dtype],
      ])),
      ...part("Peers", facts(Object.entries(r.peers_ns).map(([name, ns]) =>
        [name, `${time(ns)}${r.actual_ns ? `, op ${times(ns / r.actual_ns)}` : ""}`]))),
      ...part("Timing", facts([
        ["Source", t.source], ["Device-busy", time(t.device_busy_ns)], ["Copies", t.excluded_copies_ns ? time(t.excluded_copies_ns) : null],
        ["95 % interval", between(t.median_low_ns, t.median_high_ns)], ["p10 to p90", between(t.p10_ns, t.p90_ns)],
        ["Samples", t.samples], ["Kernels", t.kernels],
        ...rest(t, "source", "device_busy_ns", "excluded_copies_ns", "p10_ns", "p90_ns", "median_low_ns", "median_high_ns", "samples", "kernels", "policy", "clocks"),
      ])),
      ...part("Clocks", facts([
        ["SM clock", inUnits(clocks.sm_mhz, "MHz")], ["Lowest SM clock", inUnits(clocks.sm_min_mhz, "MHz")], ["Highest SM clock", inUnits(clocks.sm_max_mhz, "MHz")],
        ["Memory clock", inUnits(clocks.memory_mhz, "MHz")], ["Held down by", clocks.throttle?.join(", ")],
        ["Highest power", inUnits(clocks.power_w, "W")], ["Highest temperature", inUnits(clocks.temperature_c, "°C")],
        ...rest(clocks, "sm_mhz", "sm_min_mhz", "sm_max_mhz", "memory_mhz", "throttle", "power_w", "temperature_c"),
      ])),
      ...part("Failure", named(r.failure)),
      ...part("Parameters", named(r.params)),
      ...part("Tensors", facts((r.tensors ?? []).map((x) => [x.name, [
        x.dtype, plain(x.shape), x.effect, ...rest(x, "name", "dtype", "shape", "effect").map(([name, value]) => `${name} ${value}`),
      ].filter(Boolean).join(" ")]))),
      ...part("What decided the work", named(r.data_terms)),
      ...part("Correctness", named(r.correctness)),
      ...part("Sampling", named(t.policy)),
      ...part("Device", facts([
        ["Name", r.device?.name], ["Driver", r.device?.driver], ["CUDA", r.device?.cuda], ["Compute capability", r.device?.compute_capability],
        ["L2 cache", si(r.device?.l2_bytes, "B")], ["Identifier", r.device?.uuid], ...rest(r.device, "name", "driver", "cuda", "compute_capability", "l2_bytes", "uuid"),
      ])),
      ...part("Run", facts([...rest(r.run, "command"), ["command", r.run?.command?.join(" ")]])),
      ...part("Other fields", facts(rest(r, "op", "case", "family", "dtype", "params", "tensors", "flops", "bytes", "read_bytes", "roof_key", "data_terms",
        "correctness", "failure", "timing", "device", "run", "intensity", "memory_ns", "compute_ns", "sol_ns", "actual_ns", "efficiency", "bound",
        "latency_bound", "fits_l2", "verdict", "blank_reason", "formula_errors", "peers_ns", "against_best_peer"))),
    ];
  };
  // Before a row is chosen: where a faster kernel would save most.
  const lost = rows
    .filter((row) => ["below", "at-ceiling"].includes(row.kind.id) && row.record.actual_ns > row.record.sol_ns)
    .map((row) => [row.record.actual_ns - row.record.sol_ns, row])
    .sort(([a], [b]) => b - a)
    .slice(0, 5);
  const suggestions = () => (lost.length === 0 ? [] : [
    make("h3", {}, "Where most time is lost"),
    make("ul", { class: "list" }, ...lost.map(([ns, row]) => {
      const button = make("button", { type: "button" },
        make("b", {}, row.record.op), make("br"), make("span", { class: "muted" }, row.record.case), make("br"),
        `${time(ns)} of ${time(row.record.actual_ns)} lost`);
      button.addEventListener("click", () => select(row, true));
      return make("li", {}, button);
    })),
  ]);
  const drawFacts = () => $("facts").replaceChildren(...(state.selected
    ? factsOf(state.selected)
    : [make("p", { class: "muted" }, "Choose a point or a row to see what is known about it."), ...suggestions()]));

  // The table.
  const COLUMNS = [
    { id: "op", name: "Op", class: "name op", value: (r) => r.record.op },
    { id: "case", name: "Case", class: "name case", value: (r) => r.record.case },
    { id: "bytes", name: "Bytes", class: "n optional", value: (r) => r.record.bytes ?? null, show: (v) => si(v, "B") },
    { id: "flops", name: "FLOPs", class: "n optional", value: (r) => r.record.flops ?? null, show: (v) => si(v, "FLOP") },
    { id: "time", name: "Time", class: "n time", value: (r) => r.record.actual_ns, show: time },
    { id: "bound", name: "Bound", class: "optional", value: (r) => r.record.bound },
    { id: "efficiency", name: "Efficiency", class: "n efficiency", value: (r) => r.record.efficiency, show: percent, meter: true },
    { id: "peer", name: "Against peer", class: "n optional", value: (r) => r.speedup, show: times },
    { id: "remark", name: "Verdict", class: "optional", value: (r) => remark(r), mark: true },
  ].filter((column) => column.id !== "peer" || summary.with_peer > 0);
  const { compare: byName } = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => (typeof a === "string" ? byName(a, b) : a - b);
  const sorted = () => {
    const column = COLUMNS.find((c) => c.id === state.sort.column);
    const sign = state.sort.down ? -1 : 1;
    // A value that does not exist stands last, whichever way the others run.
    return [...state.visible].map((row) => [column.value(row), row]).sort(([a, x], [b, y]) => {
      const [no, non] = [a === null || a === undefined, b === null || b === undefined];
      if (no || non) return no - non || x.index - y.index;
      return sign * compare(a, b) || x.index - y.index;
    }).map(([, row]) => row);
  };
  // A long name may be broken between its words: `GroupedTopk|Router|Fwd|Op`.
  const words = (name) => name.split(/(?<=[a-z0-9])(?=[A-Z])/).flatMap((word, at) => (at ? [make("wbr"), word] : [word]));
  const heads = COLUMNS.map((column) => {
    const button = make("button", { type: "button" }, column.name);
    button.addEventListener("click", () => {
      state.sort = { column: column.id, down: state.sort.column === column.id && !state.sort.down };
      drawTable();
    });
    return make("th", { role: "columnheader", scope: "col", class: column.class }, button);
  });
  document.querySelector("#table thead tr").append(...heads);
  const body = document.querySelector("#table tbody");
  const drawTable = () => {
    heads.forEach((head, place) => {
      const here = COLUMNS[place].id === state.sort.column;
      head.setAttribute("aria-sort", here ? (state.sort.down ? "descending" : "ascending") : "none");
    });
    const order = sorted();
    // Whatever the number of rows, the page holds some hundreds; a selected row is always among them.
    const at = state.selected ? order.indexOf(state.selected) : -1;
    state.shown = Math.max(state.shown, at >= 0 && at < 1000 ? at + 1 : 0);
    body.replaceChildren(...order.slice(0, state.shown).map((row) => {
      const cells = COLUMNS.map((column) => {
        const value = column.value(row);
        const content = column.show ? column.show(value) : (value ?? "–");
        const cell = make("td", { role: "cell", class: column.class }, column.mark ? mark(row.kind) : null, ...(column.id === "op" ? words(content) : [content]));
        if (column.meter && value !== null) cell.append(make("meter", { min: 0, max: 1, value: Math.min(value, 1), "aria-hidden": "true" }));
        return cell;
      });
      return make("tr", { role: "row", tabindex: "0", "data-row": row.index, "aria-current": row === state.selected ? "true" : null }, ...cells);
    }));
    if (state.open) openBelow(state.selected);
    const shown = Math.min(state.shown, order.length);
    $("shown").textContent = order.length === 0 ? "No row passes the filters." : `${shown.toLocaleString("en")} of ${plural(order.length, "row")} shown`;
    $("more").hidden = shown === order.length;
  };
  const lineOf = (row) => row && body.querySelector(`tr[data-row="${row.index}"]`);
  const openBelow = (row) => {
    body.querySelector("tr.detail")?.remove();
    lineOf(row)?.after(make("tr", { role: "row", class: "detail" }, make("td", { role: "cell", colspan: COLUMNS.length }, make("div", { class: "facts wide" }, ...factsOf(row)))));
  };
  // A second Enter or click on the row closes its facts.
  const choose = (row) => {
    state.open = !(state.open && state.selected === row);
    select(row, false);
  };
  $("more").addEventListener("click", () => {
    const next = state.shown;
    state.shown += 2 * PAGE;
    drawTable();
    body.querySelectorAll("tr[data-row]")[next]?.focus();
  });
  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-row]");
    if (line) choose(rows[Number(line.dataset.row)]);
  });
  body.addEventListener("keydown", (event) => {
    const line = event.target.closest("tr[data-row]");
    if (!line) return;
    const lines = [...body.querySelectorAll("tr[data-row]")];
    const at = lines.indexOf(line);
    const goal = { ArrowDown: lines[at + 1], ArrowUp: lines[at - 1], Home: lines[0], End: lines.at(-1) }[event.key];
    if (goal) {
      event.preventDefault();
      goal.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(rows[Number(line.dataset.row)]);
    }
  });

  // Chosen in a plot or among the errors, a row shows its facts beside the plot; chosen in the table, under itself too.
  const select = (row, elsewhere) => {
    state.selected = row;
    if (elsewhere) state.open = false;
    drawFacts();
    if (!state.visible.includes(row)) {
      $("filters").reset();
    }
    body.querySelector("tr.detail")?.remove();
    body.querySelector("tr[aria-current]")?.removeAttribute("aria-current");
    const line = lineOf(row);
    if (line) {
      line.setAttribute("aria-current", "true");
      if (state.open) openBelow(row);
    } else {
      drawTable();
    }
    drawSelected();
    if (elsewhere) document.querySelector(".facts").scrollIntoView({ block: "nearest" });
  };

  // The plots. Coordinates are logarithms on linear axes, so that zooming is even over the decades.
  const plot = echarts.init($("plot"), null, { renderer: "canvas" });
  const histogram = echarts.init($("histogram"), null, { renderer: "canvas" });
  const peers = summary.with_peer ? echarts.init($("peers"), null, { renderer: "canvas" }) : null;
  const charts = [plot, histogram, peers].filter(Boolean);

  const used = new Set(rows.map((row) => row.record.roof_key));
  const roofs = DATA.profile.peaks.filter((peak) => used.has(peak.key));
  const peaks = (roofs.length ? roofs : DATA.profile.peaks).sort((a, b) => a.effective - b.effective);
  const bandwidth = DATA.profile.hbm;
  const everyPoint = rows.map((row) => row.point).filter(Boolean);
  const ridges = peaks.map((peak) => Math.log10(peak.effective / bandwidth.effective));
  const extent = (values, below, above) => [Math.floor(Math.min(...values) - below), Math.ceil(Math.max(...values) + above)];
  // Reduced by hand: a spread of many thousand arguments overflows the stack.
  const least = (list, at) => list.reduce((m, p) => Math.min(m, p[at]), Infinity);
  const most = (list, at) => list.reduce((m, p) => Math.max(m, p[at]), -Infinity);
  const xs = extent([...ridges, least(everyPoint, 0), most(everyPoint, 0)].filter(Number.isFinite).concat(0), 0.2, 0.4);
  const tops = peaks.map((peak) => Math.log10(peak.theoretical));
  // An even number of decades has its lines at even distances.
  const even = ([low, high]) => [low - (high - low) % 2, high];
  const ys = even(extent([...tops, least(everyPoint, 1), most(everyPoint, 1)].filter(Number.isFinite).concat(Math.log10(bandwidth.effective)), 0.1, 0.15));

  const FONT = getComputedStyle(document.body).fontFamily;
  const power = (unit) => (value) => {
    const [number, name] = si(Number((10 ** value).toPrecision(3)), unit).split(" ");
    return `${Number(number)} ${name ?? ""}`.trim();
  };
  const text = () => ({ color: colour("muted"), fontFamily: FONT, fontSize: 12 });
  const axis = (name, range, unit) => ({
    type: "value", min: range[0], max: range[1], name, nameLocation: "middle", nameGap: unit ? 54 : 28, nameTextStyle: text(),
    axisLabel: { ...text(), formatter: power(unit), hideOverlap: true }, axisLine: { show: true, onZero: false, lineStyle: { color: colour("line") } },
    splitLine: { lineStyle: { color: colour("line"), opacity: 0.6 } }, minInterval: 0.1, splitNumber: 6,
  });
  const tooltip = (row) => make("div", { class: "tip" },
    make("b", {}, row.record.op), row.record.case, make("br"),
    mark(row.kind), remark(row), make("br"),
    `${percent(row.record.efficiency)} of the ${row.record.bound ?? "?"} roof, ${time(row.record.actual_ns)}`, make("br"),
    `${si(row.record.intensity, "FLOP/B")}, ${si(row.rate, "FLOP/s")}`,
    row.peer ? make("br") : null, row.peer ? `${row.peer[0]}: ${time(row.peer[1])}` : null);
  const tooltipOption = () => ({
    trigger: "item", confine: true, backgroundColor: colour("card"), borderColor: colour("line"), textStyle: { color: colour("ink"), fontSize: 13 },
    formatter: (item) => { const row = rowOf(item); return row ? tooltip(row) : ""; },
  });
  // A point is its place and its row. Beyond a thousand of them a series is drawn as one, which keeps the page responsive.
  const pointOf = (row, [x, y]) => [x, y, row.index];
  const rowOf = (item) => (item.componentType === "series" && Array.isArray(item.value) ? rows[item.value[2]] : undefined);
  const MANY = { large: true, largeThreshold: 1000 };
  const pointSeries = (kind, at) => ({
    id: `points-${kind.id}`, type: "scatter", ...MANY, name: kind.name, symbol: kind.symbol, symbolSize: kind.id === "below" ? 7 : 9, z: kind.id === "error" ? 6 : 5,
    itemStyle: { color: colour(kind.id), opacity: 0.75 }, emphasis: { itemStyle: { opacity: 1, borderColor: colour("ink"), borderWidth: 1.5 } },
    data: state.visible.filter((row) => row.kind === kind && at(row)).map((row) => pointOf(row, at(row))),
  });
  const selectedSeries = (at) => ({
    id: "selected", type: "scatter", symbol: "circle", symbolSize: 18, z: 8, silent: true,
    itemStyle: { color: "transparent", borderColor: colour("ink"), borderWidth: 2.5 },
    data: state.selected && at(state.selected) ? [{ value: at(state.selected) }] : [],
  });
  // Names that would touch stand below each other, the highest roof's first.
  const narrow = () => plot.getWidth() < 560;
  const marginNames = () => {
    const decade = (plot.getHeight() - 64) / (ys[1] - ys[0]);
    let above = -Infinity;
    return [...peaks].reverse().map((peak) => {
      const own = (ys[1] - Math.log10(peak.effective)) * decade;
      above = Math.max(own, above + 15);
      return {
        value: [xs[1], Math.log10(peak.effective)],
        label: { position: "right", align: "left", verticalAlign: "middle", distance: 4, offset: [0, above - own], formatter: `${peak.key} ${si(peak.effective, "FLOP/s")}` },
      };
    });
  };
  const roofSeries = () => {
    const line = (id, data, dashed) => ({
      id, type: "line", data, showSymbol: false, silent: true, z: 2, animation: false,
      lineStyle: { color: colour("roof"), width: dashed ? 1 : 2, type: dashed ? "dotted" : "solid", opacity: dashed ? 0.6 : 1 },
    });
    const slope = (rate, peak) => {
      const from = Math.log10(rate);
      const ridge = Math.log10(peak) - from;
      return [[xs[0], xs[0] + from], [ridge, ridge + from], [Math.max(xs[1], ridge), ridge + from]];
    };
    const all = peaks.flatMap((peak) => [
      line(`roof-${peak.key}`, slope(bandwidth.effective, peak.effective), false),
      line(`theory-${peak.key}`, slope(bandwidth.theoretical, peak.theoretical), true),
    ]);
    // On a wide plot the names stand in the margin, where no point is, and move apart; below a narrow one they are in words.
    const names = narrow() ? [] : marginNames();
    if (!narrow()) {
      // No point lies above the memory's roof: there is room to the left of it, and more of it the higher.
      const start = Math.max(xs[0], ys[0] - Math.log10(bandwidth.effective));
      const middle = start + (ridges[0] - start) * 0.7;
      names.push({
        value: [middle, middle + Math.log10(bandwidth.effective)],
        label: { position: [-8, -6], align: "right", verticalAlign: "bottom", formatter: `memory ${si(bandwidth.effective, "B/s")}` },
      });
    }
    return [...all, {
      id: "names", type: "scatter", symbolSize: 0.1, silent: true, z: 7, data: names, animation: false, clip: false,
      label: { show: true, color: colour("ink"), fontSize: 11, backgroundColor: colour("card"), padding: [1, 3], borderRadius: 3, fontFamily: FONT },
    }];
  };
  const zoomOptions = () => [
    { id: "zx", type: "inside", xAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl", preventDefaultMouseMove: false, minSpan: 2 },
    { id: "zy", type: "inside", yAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl", preventDefaultMouseMove: false, minSpan: 2 },
  ];
  const drawPlot = () => {
    plot.setOption({
      animation: false, grid: { left: 78, right: narrow() ? 16 : 186, top: 16, bottom: 48 },
      xAxis: axis("Arithmetic intensity, FLOP/B", xs, ""), yAxis: axis("", ys, "FLOP/s"), tooltip: tooltipOption(), dataZoom: zoomOptions(),
      series: [...roofSeries(), ...KINDS.filter((k) => k.symbol !== "none").map((k) => pointSeries(k, (row) => row.point)), selectedSeries((row) => row.point)],
    });
    const drawn = state.visible.filter((row) => row.point);
    const missing = state.visible.length - drawn.length;
    const share = (kind) => plural(drawn.filter((row) => row.kind.id === kind).length, "point");
    $("plot").setAttribute("aria-label", `Roofline plot on logarithmic axes: ${plural(drawn.length, "row")} against the memory roof of ${si(bandwidth.effective, "B/s")} and ${peaks.map((p) => `${p.key} at ${si(p.effective, "FLOP/s")}`).join(", ")}; ${share("at-ceiling")} at the ceiling, ${share("error")} with a formula error. The table below holds every row.`);
    const fromTheTop = [...peaks].reverse().map((peak) => `${peak.key.slice(peak.key.indexOf(".") + 1)} ${si(peak.effective, "FLOP/s")}`);
    $("plot-text").textContent = [
      narrow() ? `Roofs from the top: ${fromTheTop.join(", ")}; the slope is the memory at ${si(bandwidth.effective, "B/s")}.` : "",
      "Solid roofs are effective rates, dotted ones theoretical. Drag to move; Ctrl and the wheel, two fingers or the buttons to zoom.",
      missing ? `${plural(missing, "row")} without a reading or without FLOPs ${missing === 1 ? "is" : "are"} in the table only.` : "",
    ].join(" ");
  };
  const drawHistogram = () => {
    const read = state.visible.filter((row) => row.record.efficiency !== null);
    const kinds = KINDS.filter((kind) => read.some((row) => row.kind === kind));
    const bins = 24;
    const bin = (row) => Math.min(bins, Math.floor(row.record.efficiency * 20 + 1e-9));
    const labels = Array.from({ length: bins + 1 }, (_, at) => (at === bins ? "120+" : String(at * 5)));
    histogram.setOption({
      animation: false, grid: { left: 44, right: 12, top: 22, bottom: 44 }, textStyle: { fontFamily: FONT },
      tooltip: { trigger: "axis", confine: true, backgroundColor: colour("card"), borderColor: colour("line"), textStyle: { color: colour("ink"), fontSize: 13 } },
      xAxis: { type: "category", data: labels, name: "Efficiency in %, a bar for every 5", nameLocation: "middle", nameGap: 28, nameTextStyle: text(), axisLabel: text(), axisTick: { show: false }, axisLine: { lineStyle: { color: colour("line") } } },
      yAxis: { type: "value", minInterval: 1, axisLabel: text(), splitLine: { lineStyle: { color: colour("line"), opacity: 0.6 } } },
      series: kinds.map((kind, at) => ({
        id: `bin-${kind.id}`, type: "bar", stack: "all", name: kind.name, barCategoryGap: "8%", itemStyle: { color: colour(kind.id) },
        data: labels.map((_, b) => read.filter((row) => row.kind === kind && bin(row) === b).length),
        markLine: at > 0 ? undefined : { silent: true, symbol: "none", data: [{ xAxis: 16 }], lineStyle: { color: colour("at-ceiling"), type: "dashed" }, label: { formatter: "at ceiling", color: colour("at-ceiling"), fontSize: 11 } },
      })),
    }, { replaceMerge: ["series"] });
    const high = read.filter((row) => row.record.efficiency >= DATA.at_ceiling).length;
    const low = read.filter((row) => row.record.efficiency < 0.5).length;
    const said = `${plural(read.length, "row")} with a reading: ${low.toLocaleString("en")} under 50 %, ${high.toLocaleString("en")} from 80 % on.`;
    $("histogram").setAttribute("aria-label", `Histogram of efficiency. ${said}`);
    $("histogram-text").textContent = said;
  };
  const peerPoint = (row) => (row.speedup && row.record.actual_ns ? [Math.log10(row.record.actual_ns / 1e3), Math.log2(row.speedup)] : null);
  const drawPeers = () => {
    if (!peers) return;
    const compared = state.visible.filter(peerPoint);
    const axes = axis("The op's time", [null, null], "");
    const side = (faster) => ({
      id: faster ? "ahead" : "behind", type: "scatter", ...MANY, name: faster ? "the op is faster" : "a peer is faster", symbol: faster ? "circle" : "triangle",
      symbolSize: faster ? 6 : 8, itemStyle: { color: colour(faster ? "below" : "anomaly"), opacity: 0.7 },
      data: compared.filter((row) => (row.speedup >= 1) === faster).map((row) => pointOf(row, peerPoint(row))),
      markLine: faster ? { silent: true, symbol: "none", data: [{ yAxis: 0 }], lineStyle: { color: colour("roof"), type: "solid" }, label: { formatter: "even", position: "insideEndTop", color: colour("muted") } } : undefined,
    });
    peers.setOption({
      animation: false, grid: { left: 56, right: 16, top: 14, bottom: 44 }, tooltip: tooltipOption(),
      xAxis: { ...axes, minInterval: 1, min: (v) => Math.floor(v.min), max: (v) => Math.ceil(v.max), axisLabel: { ...axes.axisLabel, formatter: (v) => time(Math.round(10 ** v * 1e3)) } },
      yAxis: { ...axes, name: "", minInterval: 1, min: (v) => Math.min(-1, Math.floor(v.min)), max: (v) => Math.max(1, Math.ceil(v.max)), axisLabel: { ...axes.axisLabel, formatter: (v) => `${Number((2 ** v).toPrecision(3))}×` } },
      series: [side(true), side(false), selectedSeries(peerPoint)],
    });
    const behind = compared.filter((row) => row.speedup < 1).length;
    const said = `${plural(compared.length, "row")} with a peer: the op is the faster one in ${(compared.length - behind).toLocaleString("en")}, a peer in ${behind.toLocaleString("en")}. Above 1× the op is faster.`;
    $("peers").setAttribute("aria-label", `Scatter plot of speed-up over the fastest peer. ${said}`);
    $("peers-text").textContent = said;
    const by = new Map();
    for (const row of state.visible) {
      for (const [name, ns] of Object.entries(row.record.peers_ns)) {
        if (!row.record.actual_ns) continue;
        const ratio = ns / row.record.actual_ns;
        const sum = by.get(name) ?? { rows: 0, ahead: 0, logs: 0 };
        by.set(name, { rows: sum.rows + 1, ahead: sum.ahead + (ratio >= 1), logs: sum.logs + Math.log(ratio) });
      }
    }
    document.querySelector("#peer-table tbody").replaceChildren(...[...by].sort((a, b) => b[1].rows - a[1].rows).map(([name, sum]) => make("tr", {},
      make("th", { scope: "row" }, name), make("td", { class: "n" }, sum.rows.toLocaleString("en")),
      make("td", { class: "n" }, `${sum.ahead.toLocaleString("en")} (${percent(sum.ahead / sum.rows)})`),
      make("td", { class: "n", title: "geometric mean" }, times(Math.exp(sum.logs / sum.rows))))));
  };
  const drawSelected = () => {
    plot.setOption({ series: [selectedSeries((row) => row.point)] });
    peers?.setOption({ series: [selectedSeries(peerPoint)] });
  };
  const drawPlots = () => { drawPlot(); drawHistogram(); drawPeers(); };
  for (const chart of [plot, peers].filter(Boolean)) {
    chart.on("click", (item) => { const row = rowOf(item); if (row) select(row, true); });
  }
  const zoom = (factor) => {
    const windows = plot.getOption().dataZoom;
    windows.forEach((now, index) => {
      const middle = (now.start + now.end) / 2;
      const half = Math.min(50, (now.end - now.start) / 2 * factor);
      const start = Math.max(0, Math.min(100 - 2 * half, middle - half));
      plot.dispatchAction({ type: "dataZoom", dataZoomIndex: index, start, end: start + 2 * half });
    });
  };
  $("zoom-in").addEventListener("click", () => zoom(0.6));
  $("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  $("zoom-all").addEventListener("click", () => zoom(1000));
  $("theme").addEventListener("click", () => {
    chosen = dark() ? "light" : "dark";
    try { localStorage.setItem("tileops-theme", chosen); } catch { /* Then it lasts as long as the page. */ }
    applyTheme();
    drawPlots();
  });
  wanted.addEventListener("change", () => { applyTheme(); drawPlots(); });
  const resize = new ResizeObserver(() => {
    const before = narrow();
    charts.forEach((chart) => chart.resize());
    if (narrow() !== before) drawPlot();
  });
  document.querySelectorAll(".chart").forEach((chart) => resize.observe(chart));

  drawFacts();
  filter();
})();
