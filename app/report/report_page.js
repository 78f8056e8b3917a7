'use strict';
// The page of report_charts.js: which charts there are, what is in them, and the cards of the runs.
const visible = () => data.runs.map((run, i) => ({ run, i })).filter(({ i }) => shown[i]);

function curveChart(id, title, keys, options = {}) {
  const has = (run, key) => run.curves[key] && run.curves[key].y.some((v) => v !== 0);
  const curves = () => visible().flatMap(({ run, i }) => keys.filter((key) => has(run, key))
    .map((key) => ({ i, key, name: data.runs.length > 1 ? run.name : '', ...run.curves[key] })));
  if (!data.runs.some((run) => keys.some((key) => has(run, key)))) return;
  const label = (curve) => [curve.name, keys.length > 1 ? (curve.key === 'validation' ? 'validation' : 'training') : '']
    .filter(Boolean).join(' ');
  const end = (c) => c.x[c.x.length - 1];
  const lasts = (c, step) => c.key === 'validation' || step <= end(c);  // a shorter run has no later values
  // Those of the curve that goes furthest; validations are few.
  const stepsOf = (list) => {
    const dense = list.filter((c) => c.key !== 'validation'), of = dense.length ? dense : list;
    return of.length ? of.reduce((a, c) => (end(c) > end(a) ? c : a)).x : [];
  };
  const draw = (width) => {
    const list = curves(), xs = extent(list.map((c) => c.x)), ys = extent(list.flatMap((c) => (c.low ? [c.low, c.high] : [c.y])));
    const log = ys[0] > 0 && ys[1] / ys[0] > 30 && options.log;
    if (!log) { const room = (ys[1] - ys[0]) * 0.04; ys[0] = ys[0] >= 0 ? Math.max(0, ys[0] - room) : ys[0] - room; ys[1] += room; }
    if (options.zero && !log) ys[0] = 0;
    const f = frame(width, 250, xs, ys, { x: 'step', log });
    for (const c of list) {
      const points = (values) => c.x.map((v, k) => `${f.x(v).toFixed(1)} ${f.y(values[k]).toFixed(1)}`);
      if (c.low) {  // a point stands for many steps: their range behind their mean
        const area = `M${points(c.high).join('L')}L${points(c.low).reverse().join('L')}Z`;
        f.svg.append(make('path', { class: 'range', d: area, fill: colour(c.i) }));
      }
      const path = `M${points(c.y).join('L')}`;
      const line = make('path', { class: c.key === 'validation' ? 'curve dashed' : 'curve', d: path, stroke: colour(c.i) });
      if (dashes(c.i) && c.key !== 'validation') line.setAttribute('stroke-dasharray', dashes(c.i));
      f.svg.append(line);
      if (c.key === 'validation' && c.x.length <= 60)
        c.x.forEach((v, k) => f.svg.append(make('circle', { cx: f.x(v), cy: f.y(c.y[k]), r: 3, fill: colour(c.i) })));
    }
    const steps = stepsOf(list);
    const reading = (c, k) => `${label(c)} ${number(c.y[k])}` + (c.low ? ` (${number(c.low[k])} to ${number(c.high[k])})` : '');
    const describe = (k) => `step ${whole(steps[k])}: ` + list.filter((c) => lasts(c, steps[k]))
      .map((c) => reading(c, nearest(c.x, steps[k])).trim()).join(', ');
    return {
      svg: f.svg, positions: steps.length, describe, rest: steps.length ? describe(steps.length - 1) : '', place: (k) => f.x(steps[k]),
      find: (px) => nearest(steps, xs[0] + ((px - f.left) / (width - f.left - f.right)) * (xs[1] - xs[0])),
      summary: list.map((c) => `${label(c) || title} from ${number(c.y[0])} to ${number(c.y[c.y.length - 1])}.`).join(' '),
    };
  };
  const table = () => {
    const list = curves(), steps = stepsOf(list), rows = Math.min(40, steps.length);
    const some = [...Array(rows).keys()].map((r) => steps[Math.round((r * (steps.length - 1)) / Math.max(1, rows - 1))]);
    const scored = list.filter((c) => c.key === 'validation').flatMap((c) => (c.x.length <= 60 ? c.x : [end(c)]));
    const body = make('tbody');
    for (const step of [...new Set([...some, ...scored])].sort((a, b) => a - b)) {
      const isKnown = (c, k) => (c.key === 'validation' ? c.x[k] === step : lasts(c, step));
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
  const line = (dashed) => make('svg', { viewBox: '0 0 26 8', 'aria-hidden': 'true' }, make('line',
    { x1: 0, x2: 26, y1: 4, y2: 4, stroke: 'currentColor', 'stroke-width': 1.6, class: dashed ? 'dashed' : '' }));
  return [make('span', { class: 'key' }, line(false), ' training', line(true), ' validation')];
}

function histogramChart() {
  const h = data.histogram, bins = h.runs.length ? h.runs[0].counts.length : 0;
  if (!h.runs.some((run) => run.counts.some((n) => n > 0))) return;
  const edge = (k) => (h.low + ((h.high - h.low) * k) / bins) * 1e3;
  const range = (k) => `${number(edge(k))} to ${k + 1 < bins ? number(edge(k + 1)) : 'more'} ms`;
  const named = (i, text) => (data.runs.length > 1 ? `${data.runs[i].name} ${text}` : text);
  const medians = () => visible().map(({ run, i }) => named(i, `median ${number(run.step_s * 1e3)} ms`)).join(', ');
  const draw = (width) => {
    const most = Math.max(1, ...visible().flatMap(({ i }) => h.runs[i].counts));
    const f = frame(width, 250, [edge(0), edge(bins)], [0, most * 1.04], { x: 'ms' });
    const list = visible();
    list.forEach(({ i }, place) => h.runs[i].counts.forEach((count, k) => {
      if (count === 0) return;
      const span = (f.x(edge(k + 1)) - f.x(edge(k)) - 1) / list.length;
      f.svg.append(make('rect', { x: f.x(edge(k)) + span * place, y: f.y(count), width: Math.max(0.5, span),
        height: Math.max(0.5, f.y(0) - f.y(count)), fill: colour(i) }));
    }));
    return {
      svg: f.svg, positions: bins, place: (k) => (f.x(edge(k)) + f.x(edge(k + 1))) / 2,
      find: (px) => Math.floor(((px - f.left) / (width - f.left - f.right)) * bins),
      describe: (k) => `${range(k)}: ` + visible().map(({ i }) => named(i, `${h.runs[i].counts[k]} steps`)).join(', '),
      summary: `${medians()}.`, rest: medians(),
    };
  };
  const table = () => {
    const body = make('tbody');
    for (let k = 0; k < bins; ++k)
      if (visible().some(({ i }) => h.runs[i].counts[k]))
        body.append(make('tr', {}, make('th', { scope: 'row' }, range(k)),
          ...visible().map(({ i }) => make('td', {}, whole(h.runs[i].counts[k])))));
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
    for (const e of list)
      f.svg.append(make('circle', { cx: f.x(e.time), cy: row(e.event) + shift(e.i), r: 4, fill: colour(e.i), 'fill-opacity': 0.8 }));
    return {
      svg: f.svg, positions: list.length, place: (k) => f.x(list[k].time),
      find: (px) => nearest(list.map((e) => e.time), xs[0] + ((px - f.left) / (width - f.left - f.right)) * (xs[1] - xs[0])),
      describe: (k) => `${number(list[k].time)} s, ${data.runs.length > 1 ? `${list[k].run}, ` : ''}step ${whole(list[k].step)}: ` +
        `${list[k].event} ${list[k].details}`.slice(0, 160),
      summary: `${counted()}.`, rest: counted(),
    };
  };
  const table = () => make('table', {}, make('thead', {}, make('tr', {}, ...['seconds', 'run', 'step', 'event', 'details']
    .map((name) => make('th', { scope: 'col' }, name)))), make('tbody', {}, ...all().map((e) => make('tr', {},
    ...[number(e.time), e.run, whole(e.step), e.event, e.details].map((text) => make('td', {}, text))))));
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
    ['ranks', run.ranks], ['loss', run.loss === null ? null : number(run.loss)],
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

document.getElementById('runs').append(...data.runs.map(card));
curveChart('chart-loss', 'Loss', ['loss', 'validation'], { wide: true, key: lossKey() });
curveChart('chart-lr', 'Learning rate', ['lr'], { zero: true });
curveChart('chart-grad-norm', 'Gradient norm', ['grad_norm'], { log: true, zero: true });
curveChart('chart-tokens', 'Tokens per second', ['rate'], { zero: true });
curveChart('chart-flops', 'Model FLOP/s', ['flops'], { zero: true });
histogramChart();
eventChart();
deckDifferences();
const halves = document.querySelectorAll('#charts .chart:not(.wide)');
if (halves.length % 2) halves[halves.length - 1].classList.add('wide');
new ResizeObserver(() => {
  for (const each of charts)
    if (each.holder.clientWidth !== each.width) { each.width = each.holder.clientWidth; each.redraw(); }
}).observe(document.body);
