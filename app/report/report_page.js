'use strict';
// The page of report_charts.js: which charts there are, what is in them, and the cards of the runs.
// Events that curves are marked with, the class of their marks, and what the key calls them.
const marks = {
  replica_lost: { style: 'lost', title: 'replica lost' }, replica_join: { style: 'joined', title: 'replica joined' },
  onset: { style: 'onset', title: 'slower (onset)' }, relief: { style: 'relief', title: 'faster (relief)' },
  fail_slow: { style: 'slow', title: 'fail-slow found' }, healed: { style: 'healed', title: 'healed' },
  mitigate: { style: 'mitigated', title: 'mitigated' }, revert: { style: 'reverted', title: 'mitigation undone' },
};
const visible = () => data.runs.map((run, i) => ({ run, i })).filter(({ i }) => shown[i]);

function curveChart(id, title, keys, options = {}) {
  const isScore = (c) => c.key === 'validation';
  const has = (run, key) => run.curves[key] && run.curves[key].y.some((v) => v !== 0);
  if (!data.runs.some((run) => keys.some((key) => has(run, key)))) return;
  // With `at`: where its points are across, but for those that a logarithmic axis has no place for.
  const curveOf = (run, i, key) => {
    const all = { i, key, name: data.runs.length > 1 ? run.name : '', ...run.curves[key] };
    const last = isScore(all) ? 1 : 0;  // a score of so many steps done is one after the last of them
    all.at = all.x.map((step) => (view.x === 'step' ? step : across(run, step - last)));
    if (options.smooth && !isScore(all) && view.smoothing > 0) all.smooth = smoothed(all.y, view.smoothing);
    const keep = (list) => list && list.filter((_, k) => !view.logX || all.at[k] > 0);
    const kept = { ...all };
    for (const part of ['x', 'y', 'low', 'high', 'smooth', 'at']) kept[part] = keep(all[part]);
    return kept;
  };
  // Validations last: they are drawn over the others.
  const curves = () => keys.flatMap((key) => visible().filter(({ run }) => has(run, key)).map(({ run, i }) => curveOf(run, i, key)))
    .filter((c) => c.x.length > 0);
  const label = (c) => [c.name, keys.length > 1 ? (isScore(c) ? 'validation' : 'training') : ''].filter(Boolean).join(' ');
  const end = (c) => c.at[c.at.length - 1];
  const lasts = (c, at) => isScore(c) || at <= end(c);  // a shorter run has no later values
  // The one that goes furthest says where the read-out can stand; validations are few.
  const leader = (list) => {
    const dense = list.filter((c) => !isScore(c)), of = dense.length ? dense : list;
    return of.length ? of.reduce((a, c) => (end(c) > end(a) ? c : a)) : { x: [], at: [] };
  };
  const drawMarks = (f, run, [, last], bottom) => {
    for (const e of run.events.filter((event) => marks[event.event])) {
      const at = Math.min(last, view.x === 'step' ? e.step : across(run, e.step - 1));
      if (view.logX && at <= 0) continue;
      f.svg.append(make('line', { class: `mark ${marks[e.event].style}`, x1: f.x(at), x2: f.x(at), y1: f.top, y2: bottom }));
    }
  };
  const drawCurve = (f, c) => {
    const points = (values) => c.at.map((v, k) => `${f.x(v).toFixed(1)} ${f.y(values[k]).toFixed(1)}`);
    const path = (values, name, stroke) => {
      const line = make('path', { class: name, d: `M${points(values).join('L')}`, stroke });
      if (dashes(c.i) && !isScore(c)) line.setAttribute('stroke-dasharray', dashes(c.i));
      f.svg.append(line);
    };
    if (c.low) {  // a point stands for many steps: their range behind their mean
      const area = `M${points(c.high).join('L')}L${points(c.low).reverse().join('L')}Z`;
      f.svg.append(make('path', { class: 'range', d: area, fill: colour(c.i) }));
    }
    if (!isScore(c)) {
      path(c.y, c.smooth ? 'curve raw' : 'curve', colour(c.i));
      if (c.smooth) path(c.smooth, 'curve', colour(c.i));
      return;
    }
    path(c.y, 'curve score', scoreColour(c.i));
    const stride = Math.ceil(c.x.length / 60);
    c.at.forEach((v, k) => {
      if (k % stride && k !== c.x.length - 1) return;
      f.svg.append(make('circle', { class: 'score', cx: f.x(v), cy: f.y(c.y[k]), r: 3.5, fill: scoreColour(c.i) }));
    });
  };
  const draw = (width) => {
    const list = curves(), xs = list.length || !view.logX ? extent(list.map((c) => c.at)) : [1, 10];
    const ys = extent(list.flatMap((c) => (c.low ? [c.low, c.high] : [c.y])));
    const log = ys[0] > 0 && options.log && (view.logY || (options.log === 'auto' && ys[1] / ys[0] > 30));
    if (!log) { const room = (ys[1] - ys[0]) * 0.04; ys[0] = ys[0] >= 0 ? Math.max(0, ys[0] - room) : ys[0] - room; ys[1] += room; }
    if (options.zero && !log) ys[0] = 0;
    const axis = axisTo(xs[1]), f = frame(width, options.wide ? 320 : 250, xs, ys, { x: axis.title, unit: axis.unit, log, logX: view.logX });
    if (options.marks) visible().forEach(({ run }) => drawMarks(f, run, xs, f.y(ys[0])));
    for (const c of list) drawCurve(f, c);
    const { at } = leader(list);
    const details = (c, k) => [c.low && `${number(c.low[k])} to ${number(c.high[k])}`, c.smooth && `smoothed ${number(c.smooth[k])}`]
      .filter(Boolean).join(', ');
    const reading = (c, k) => `${label(c)} ${number(c.y[k])}${details(c, k) && ` (${details(c, k)})`}`.trim();
    const describe = (k) => `${axis.read(at[k])}: ` + list.filter((c) => lasts(c, at[k])).map((c) => reading(c, nearest(c.at, at[k]))).join(', ');
    return {
      svg: f.svg, positions: at.length, describe, rest: at.length ? describe(at.length - 1) : '', place: (k) => f.x(at[k]),
      find: (px) => nearest(at, f.back(px)),
      summary: list.map((c) => `${label(c) || title} from ${number(c.y[0])} to ${number(c.y[c.y.length - 1])}.`).join(' '),
    };
  };
  const table = () => {
    const list = curves(), steps = leader(list).x, rows = Math.min(40, steps.length);
    const some = [...Array(rows).keys()].map((r) => steps[Math.round((r * (steps.length - 1)) / Math.max(1, rows - 1))]);
    const last = (c) => c.x[c.x.length - 1];
    const scored = list.filter(isScore).flatMap((c) => (c.x.length <= 60 ? c.x : [last(c)]));
    const body = make('tbody');
    for (const step of [...new Set([...some, ...scored])].sort((a, b) => a - b)) {
      const isKnown = (c, k) => (isScore(c) ? c.x[k] === step : step <= last(c));
      const near = (c) => { const k = nearest(c.x, step); return isKnown(c, k) ? number(c.y[k]) : ''; };
      body.append(make('tr', {}, make('th', { scope: 'row' }, whole(step)), ...list.map((c) => make('td', {}, near(c)))));
    }
    return make('table', {}, make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'step'),
      ...list.map((c) => make('th', { scope: 'col' }, label(c) || title)))), body);
  };
  chart(id, title, 'charts', options, draw, table);
}

// Which line is which, where a run has both.
function lossKey() {
  if (!data.runs.some((run) => run.curves.validation.x.length > 0)) return [];
  const alone = data.runs.length === 1;
  const sample = (...parts) => make('svg', { viewBox: '0 0 26 8', 'aria-hidden': 'true' }, ...parts);
  const line = (name, stroke) => make('line', { x1: 0, x2: 26, y1: 4, y2: 4, stroke, class: name });
  const score = alone ? scoreColour(0) : 'currentColor', training = alone ? colour(0) : 'currentColor';
  return [make('span', { class: 'key' }, sample(line('curve', training)), ' training',
    sample(line('curve score', score), make('circle', { class: 'score', cx: 13, cy: 4, r: 3.5, fill: score })), ' validation')];
}

// Which mark is which, where there are any.
function markKey() {
  const happened = new Set(data.runs.flatMap((run) => run.events.map((e) => e.event)));
  const seen = Object.entries(marks).filter(([event]) => happened.has(event)).map(([, mark]) => mark);
  if (!seen.length) return [];
  const sample = (style) => make('svg', { viewBox: '0 0 26 8', 'aria-hidden': 'true' },
    make('line', { class: `mark ${style}`, x1: 13, x2: 13, y1: -3, y2: 11 }));
  return [make('span', { class: 'key' }, ...seen.flatMap(({ style, title }) => [sample(style), ` ${title}`]))];
}

function histogramChart() {
  const h = data.histogram, bins = h.runs.length ? h.runs[0].counts.length : 0;
  if (!h.runs.some((run) => run.beyond || run.counts.some((n) => n > 0))) return;
  const ms = (seconds) => number(seconds * 1e3), width_s = (h.high - h.low) / bins;
  // Steps that are slower than the bins go have a bar of their own, apart from them.
  const hasBeyond = h.runs.some((run) => run.beyond > 0), bars = bins + (hasBeyond ? 1 : 0);
  const begin = (k) => (h.low + width_s * (k < bins ? k : bins + 1.5)) * 1e3;
  const end = (k) => (h.low + width_s * (k < bins ? k + 1 : bins + 4)) * 1e3;
  const count = (i, k) => (k < bins ? h.runs[i].counts[k] : h.runs[i].beyond);
  const range = (k) => (k < bins ? `${number(begin(k))} to ${number(end(k))} ms` : `more than ${ms(h.high)} ms, ${ms(h.slowest)} at most`);
  const named = (i, text) => (data.runs.length > 1 ? `${data.runs[i].name} ${text}` : text);
  const medians = () => visible().map(({ run, i }) => named(i, `median ${ms(run.step_s)} ms`)).join(', ');
  const draw = (width) => {
    const list = visible(), most = Math.max(1, ...list.flatMap(({ i }) => [h.runs[i].beyond, ...h.runs[i].counts]));
    const f = frame(width, 250, [begin(0), end(bars - 1)], [0, most * 1.04], { x: 'ms', ticksTo: h.high * 1e3 });
    list.forEach(({ i }, place) => {
      for (let k = 0; k < bars; ++k) {
        if (count(i, k) === 0) continue;
        const span = (f.x(end(k)) - f.x(begin(k)) - 1) / list.length;
        f.svg.append(make('rect', { class: k < bins ? 'bar' : 'bar beyond', x: f.x(begin(k)) + span * place, y: f.y(count(i, k)),
          width: Math.max(0.5, span), height: Math.max(0.5, f.y(0) - f.y(count(i, k))), fill: colour(i), stroke: colour(i) }));
      }
    });
    if (hasBeyond)
      f.svg.append(make('text', { x: width - f.right, y: f.y(most) + 4, 'text-anchor': 'end' }, `slower than ${ms(h.high)} ms`));
    const find = (px) => [...Array(bars).keys()].find((k) => f.x(end(k)) >= px) ?? bars - 1;
    return {
      svg: f.svg, positions: bars, place: (k) => (f.x(begin(k)) + f.x(end(k))) / 2, find,
      describe: (k) => `${range(k)}: ` + visible().map(({ i }) => named(i, `${count(i, k)} steps`)).join(', '),
      summary: `${medians()}.`, rest: medians(),
    };
  };
  const table = () => {
    const body = make('tbody');
    for (let k = 0; k < bars; ++k)
      if (visible().some(({ i }) => count(i, k)))
        body.append(make('tr', {}, make('th', { scope: 'row' }, range(k)),
          ...visible().map(({ i }) => make('td', {}, whole(count(i, k))))));
    return make('table', {}, make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'time of a step'),
      ...visible().map(({ run }) => make('th', { scope: 'col' }, run.name)))), body);
  };
  chart('chart-step-time', 'Step time', 'charts', {}, draw, table);
}

function eventChart() {
  const all = () => visible().flatMap(({ run, i }) => run.events.map((e) => ({ ...e, i, run: run.name })))
    .sort((a, b) => a.time - b.time);
  if (!data.runs.some((run) => run.events.length)) return;
  const kinds = [...new Set(data.runs.flatMap((run) => run.events.map((e) => e.event)))];
  const counted = () => {
    const there = visible().reduce((sum, { run }) => sum + run.event_count, 0), drawn = all().length;
    return drawn === there ? `${there} events` : `${whole(drawn)} of ${whole(there)} events`;
  };
  const draw = (width) => {
    const list = all(), height = 44 + kinds.length * 24, xs = extent(list.map((e) => [e.time]));
    const f = frame(width, height, xs, [0, 1], { x: 'seconds from the start', rows: true, left: 118 });
    const row = (kind) => 20 + kinds.indexOf(kind) * 24;
    for (const kind of kinds)
      f.svg.append(make('text', { x: 106, y: row(kind) + 4, 'text-anchor': 'end' }, kind),
                   make('line', { class: 'grid', x1: 118, x2: width - f.right, y1: row(kind), y2: row(kind) }));
    const shift = (i) => (data.runs.length > 1 ? (i - (data.runs.length - 1) / 2) * Math.min(4, 16 / data.runs.length) : 0);
    const mark = (k) => ({ x: f.x(list[k].time), y: row(list[k].event) + shift(list[k].i) });
    list.forEach((e, k) => f.svg.append(make('circle', { cx: mark(k).x, cy: mark(k).y, r: 4, fill: colour(e.i), 'fill-opacity': 0.8 })));
    const distance = (k, px, py) => (mark(k).x - px) ** 2 + (mark(k).y - py) ** 2;
    const what = (e) => [e.event, e.place].filter(Boolean).join(', ');
    const when = (e) => `${number(e.time)} s, ${data.runs.length > 1 ? `${e.run}, ` : ''}step ${whole(e.step)}`;
    return {
      svg: f.svg, positions: list.length, place: (k) => mark(k).x, mark,
      find: (px, py) => list.reduce((best, _, k) => (distance(k, px, py) < distance(best, px, py) ? k : best), 0),
      describe: (k) => `${when(list[k])}: ${what(list[k])}`,
      tip: (k) => [what(list[k]), when(list[k]), list[k].details.slice(0, 240)].filter(Boolean),
      summary: `${counted()}.`, rest: counted(),
    };
  };
  const table = () => make('table', {}, make('thead', {}, make('tr', {}, ...['seconds', 'run', 'step', 'event', 'where', 'details']
    .map((name) => make('th', { scope: 'col' }, name)))), make('tbody', {}, ...all().map((e) => make('tr', {},
    ...[number(e.time), e.run, whole(e.step), e.event, e.place, e.details].map((text) => make('td', {}, text))))));
  chart('chart-events', 'Time line', 'events', { wide: true }, draw, table);
}

function card(run, i) {
  const name = make('div', { class: 'run-name' }, make('span', { class: 'swatch', style: `background:${colour(i)}` }));
  if (data.runs.length > 1) {
    const box = make('input', { type: 'checkbox', id: `show-${i}` });
    box.checked = true;
    box.addEventListener('change', () => {
      shown[i] = box.checked;
      for (const each of charts) { each.redraw(); each.figure.forget(); }
    });
    name.append(box, make('label', { for: `show-${i}` }, run.name));
  } else name.append(run.name);
  name.append(make('small', {}, run.directory));
  const facts = [['ended', run.ending], ['steps', `${whole(run.steps)}${run.train_steps ? ` of ${whole(run.train_steps)}` : ''}`],
    ['replicas', run.replicas > 1 ? run.replicas : null], ['ranks', run.ranks], ['loss', run.loss === null ? null : number(run.loss)],
    ['validation loss', run.validation_loss === null ? null : number(run.validation_loss)],
    ['tokens', run.tokens ? number(run.tokens) : null], ['training time', duration(run.seconds)],
    ['median step', `${number(run.step_s * 1e3)} ms`], ['median tokens/s', run.rate ? number(run.rate) : null],
    ['model FLOP/s', run.flops ? number(run.flops) : null]];
  return make('article', { class: 'run' }, name, make('dl', {}, ...facts.filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => make('div', {}, make('dt', {}, key), make('dd', {}, String(value))))));
}

// What distinguishes the decks, one row a key.
function deckDifferences() {
  const decks = [...document.querySelectorAll('pre.deck')].map((pre) => {
    const values = new Map();
    let section = '';
    for (const line of pre.textContent.split('\n')) {
      const heading = line.match(/^\[+([^\]]+)\]+/), entry = line.match(/^([\w]+) *= *(.*)$/);
      if (heading) section = heading[1];
      else if (entry) values.set(`${section}.${entry[1]}`, entry[2]);
    }
    return values;
  });
  if (decks.length < 2) return;
  const keys = [...new Set(decks.flatMap((deck) => [...deck.keys()]))].filter((key) => new Set(decks.map((d) => d.get(key))).size > 1);
  document.getElementById('deck-differences').append(make('div', { class: 'scroll', tabindex: 0, role: 'region',
    'aria-label': 'differences of the decks' }, make('table', {}, make('thead', {}, make('tr', {},
    ...['key', ...data.runs.map((run) => run.name)].map((name) => make('th', { scope: 'col' }, name)))),
    make('tbody', {}, ...keys.map((key) => make('tr', {}, make('th', { scope: 'row' }, key),
      ...decks.map((deck) => make('td', {}, deck.get(key) ?? '–'))))))));
}

// The page's controls, and what they begin with: long curves smoothed.
function listenToView() {
  const element = (name) => document.getElementById(`view-${name}`);
  const isLong = data.runs.some((run) => run.axes.step.length >= 100);
  element('smoothing').value = isLong ? 0.8 : 0;
  if (!data.runs.some((run) => run.tokens)) element('x').querySelector('[value=tokens]').remove();
  const read = () => {
    Object.assign(view, { x: element('x').value, logX: element('log-x').checked, logY: element('log-y').checked,
      smoothing: Number(element('smoothing').value) });
    element('smoothing-is').textContent = view.smoothing ? view.smoothing.toFixed(2) : 'off';
  };
  read();
  document.getElementById('view').addEventListener('input', () => {
    read();
    for (const each of charts) each.redraw();
  });
}

document.getElementById('runs').append(...data.runs.map(card));
listenToView();
curveChart('chart-loss', 'Loss', ['loss', 'validation'], { wide: true, log: 'asked', smooth: true, key: [...lossKey(), ...markKey()], marks: true });
curveChart('chart-lr', 'Learning rate', ['lr'], { zero: true, log: 'asked' });
curveChart('chart-grad-norm', 'Gradient norm', ['grad_norm'], { log: 'auto', zero: true, smooth: true });
curveChart('chart-tokens', 'Tokens per second', ['rate'], { zero: true, smooth: true, key: markKey(), marks: true });
if (data.runs.some((run) => run.replicas > 1))
  curveChart('chart-replicas', 'Replicas that contribute', ['replicas'], { zero: true, key: markKey(), marks: true });
curveChart('chart-flops', 'Model FLOP/s', ['flops'], { zero: true, smooth: true });
histogramChart();
eventChart();
deckDifferences();
const halves = document.querySelectorAll('#charts .chart:not(.wide)');
if (halves.length % 2) halves[halves.length - 1].classList.add('wide');
new ResizeObserver(() => {
  for (const each of charts)
    if (each.holder.clientWidth !== each.width) { each.width = each.holder.clientWidth; each.redraw(); }
}).observe(document.body);
