'use strict';
// Draws the page's charts from the JSON in #data. Curves are SVG in the element's own pixels, so that text keeps its size at
// every width; a chart is one stop of the Tab key, in which arrow keys move the read-out.
const data = JSON.parse(document.getElementById('data').textContent);
const shown = data.runs.map(() => true);
const charts = [];

// How curves are drawn: what is across ('step', 'tokens' or 'seconds'), which axes are logarithmic, the share that a smoothed
// value keeps of the one before.
const view = { x: 'step', logX: false, logY: false, smoothing: 0 };

const colour = (run) => `var(--c${run % 8})`;
// A validation curve stands out from its training curve: another colour, or beside other runs its run's own, darker on light
// paper and lighter on dark.
const scoreColour = (run) => (data.runs.length === 1 ? 'var(--c1)' : `color-mix(in srgb, ${colour(run)} 50%, var(--ink))`);
const dashes = (run) => ['', '7 3', '2 3', '9 3 2 3'][Math.floor(run / 8) % 4];

function make(name, attributes = {}, ...children) {
  const isSvg = ['svg', 'g', 'path', 'line', 'circle', 'rect', 'text', 'title'].includes(name);
  const element = isSvg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function number(value) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return value.toExponential(2);
  if (size < 1e4) return String(Number(value.toPrecision(4)));
  const unit = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([least]) => size >= least);
  return `${Number((value / unit[0]).toPrecision(4))} ${unit[1]}`;
}
const whole = (value) => (value === null ? '–' : Math.round(value).toLocaleString('en'));
function duration(seconds) {
  if (seconds < 120) return `${number(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// Ticks at 1, 2 or 5 times a power of ten; on a logarithmic axis at powers of ten where there are enough, else between them.
function ticks(low, high, most, log) {
  if (log) {
    const listed = (marks) => {
      const list = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e)
        list.push(...marks.map((mark) => mark * 10 ** e).filter((v) => v >= low * 0.999 && v <= high * 1.001));
      return list;
    };
    const powers = listed([1]);
    if (powers.length > 2) return powers.filter((_, i) => i % Math.ceil(powers.length / most) === 0);
    const finer = [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7]].map(listed).find((list) => list.length > 2);
    return finer || [0, 1, 2, 3].map((i) => low * (high / low) ** (i / 3));
  }
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => (high - low) / s <= most);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) list.push(Number((i * step).toPrecision(12)));
  return list;
}

function extent(lists) {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (const v of list) { if (v < low) low = v; if (v > high) high = v; }
  if (low > high) return [0, 1];
  return low === high ? [low - Math.abs(low || 1) / 10, high + Math.abs(high || 1) / 10] : [low, high];
}

// Averages that weigh a neighbour `weight` times as much as the one before it, to both sides: they do not lag.
function smoothed(values, weight) {
  const sums = (list) => {
    let sum = 0;
    return list.map((value) => { sum = value + weight * sum; return sum; });
  };
  const both = (list) => {
    const there = sums(list), back = sums([...list].reverse()).reverse();
    return list.map((value, k) => there[k] + back[k] - value);
  };
  const weights = both(values.map(() => 1));
  return both(values).map((sum, k) => sum / weights[k]);
}

// Where a run was at the end of a step, in tokens or seconds.
function across(run, step) {
  const { step: steps, [view.x]: values } = run.axes;
  if (steps.length === 0) return step;
  const after = steps.findIndex((s) => s >= step);
  if (after < 0) return values[values.length - 1];
  if (after === 0) return values[0];
  const share = (step - steps[after - 1]) / (steps[after] - steps[after - 1]);
  return values[after - 1] + share * (values[after] - values[after - 1]);
}
// The axis across that ends at `last`: its title, how a place on it reads, and the unit that its ticks count in.
function axisTo(last) {
  if (view.x === 'step') return { title: 'step', unit: 1, read: (v) => `step ${whole(v)}` };
  if (view.x === 'tokens') return { title: 'tokens', unit: 1, read: (v) => `${number(v)} tokens` };
  const [unit, name] = last < 300 ? [1, 's'] : last < 5 * 3600 ? [60, 'min'] : [3600, 'h'];
  return { title: `training time, ${name}`, unit, read: duration };
}

// A frame with axes. Returns the SVG, the scales, and `back` from a place across to its value.
function frame(width, height, xs, ys, labels) {
  const left = labels.left || 58, right = 12, top = 8, bottom = 34;
  const svg = make('svg', { viewBox: `0 0 ${width} ${height}`, height, role: 'application', 'aria-roledescription': 'chart', tabindex: 0 });
  const [x0, x1] = xs, [y0, y1] = ys;
  const toY = labels.log ? Math.log10 : (v) => v, toX = labels.logX ? Math.log10 : (v) => v;
  const x = (v) => left + ((toX(v) - toX(x0)) / (toX(x1) - toX(x0))) * (width - left - right);
  const back = (px) => {
    const at = toX(x0) + ((px - left) / (width - left - right)) * (toX(x1) - toX(x0));
    return labels.logX ? 10 ** at : at;
  };
  const y = (v) => height - bottom - ((toY(v) - toY(y0)) / (toY(y1) - toY(y0))) * (height - top - bottom);
  for (const v of labels.rows ? [] : ticks(y0, y1, 5, labels.log)) {
    svg.append(make('line', { class: 'grid', x1: left, x2: width - right, y1: y(v), y2: y(v) }),
               make('text', { x: left - 8, y: y(v) + 4, 'text-anchor': 'end' }, number(v)));
  }
  const unit = labels.unit || 1, ticksTo = labels.ticksTo || x1;
  for (const v of ticks(x0 / unit, ticksTo / unit, width < 500 ? 4 : 8, labels.logX)) {
    const at = x(v * unit);
    svg.append(make('line', { class: 'grid', x1: at, x2: at, y1: height - bottom, y2: height - bottom + 4 }),
               make('text', { x: Math.min(at, width - 20), y: height - bottom + 17, 'text-anchor': 'middle' }, number(v)));
  }
  svg.append(make('text', { x: width - right, y: height - 3, 'text-anchor': 'end' }, labels.x));
  return { svg, x, y, back, left, right, top, bottom };
}

function nearest(list, wanted) {
  let low = 0, high = list.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (list[middle] < wanted) low = middle; else high = middle; }
  return wanted - list[low] < list[high] - wanted ? low : high;
}

// The chart's figure, its read-out and table. `draw(width)` returns {svg, positions, describe, place, find}: how many positions
// the read-out has, what it says at one, where the cursor stands, and which one is nearest to a point; where it has `tip` and
// `mark`, also the lines that are shown beside a position, and its dot.
function chart(id, title, place, options, draw, table) {
  const output = make('output', { 'aria-live': 'polite' });
  const holder = make('div', { class: 'holder' }), tip = make('div', { class: 'tip', hidden: '', 'aria-hidden': 'true' });
  const details = make('details', {}, make('summary', {}, `${title} as a table`));
  const figure = make('figure', { class: options.wide ? 'chart wide' : 'chart', id },
                      make('figcaption', {}, make('h3', {}, title), ...(options.key || []), output), holder, details);
  document.getElementById(place).append(figure);
  const fill = () => {
    if (details.open && !details.querySelector('table'))
      details.append(make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${title}, table` }, table()));
  };
  details.addEventListener('toggle', fill);
  const redraw = () => {
    const focused = holder.contains(document.activeElement);
    const width = Math.max(240, holder.clientWidth);
    const picture = draw(width);
    const cursor = make('line', { class: 'cursor', y1: 8, y2: picture.svg.viewBox.baseVal.height - 34, visibility: 'hidden' });
    picture.svg.append(cursor);
    picture.svg.setAttribute('aria-label', `${title}. ${picture.summary} Arrow keys read values.`);
    let at = -1;
    const ring = make('circle', { class: 'ring', r: 7, visibility: 'hidden' });
    picture.svg.append(ring);
    const point = () => {
      if (!picture.tip) return;
      const { x, y } = picture.mark(at);
      ring.setAttribute('cx', x); ring.setAttribute('cy', y); ring.setAttribute('visibility', 'visible');
      tip.replaceChildren(...picture.tip(at).map((line) => make('div', {}, line)));
      tip.hidden = false;
      const scale = holder.clientWidth / width;
      tip.style.left = `${Math.max(0, Math.min(x * scale + 12, holder.clientWidth - tip.offsetWidth))}px`;
      tip.style.top = `${y + 14}px`;
    };
    const go = (position) => {
      if (picture.positions === 0) return;
      at = Math.max(0, Math.min(picture.positions - 1, position));
      cursor.setAttribute('x1', picture.place(at)); cursor.setAttribute('x2', picture.place(at));
      cursor.setAttribute('visibility', 'visible');
      output.textContent = picture.describe(at);
      point();
    };
    picture.svg.addEventListener('pointermove', (event) => {
      const box = picture.svg.getBoundingClientRect();
      go(picture.find((event.clientX - box.left) * width / box.width, event.clientY - box.top));
    });
    const rest = () => {
      cursor.setAttribute('visibility', 'hidden');
      ring.setAttribute('visibility', 'hidden');
      tip.hidden = true;
      output.textContent = picture.rest || '';
    };
    rest();
    picture.svg.addEventListener('pointerleave', rest);
    picture.svg.addEventListener('keydown', (event) => {
      const stride = event.shiftKey ? Math.ceil(picture.positions / 20) : 1;
      const to = { ArrowRight: at + stride, ArrowLeft: at - stride, Home: 0, End: picture.positions - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(to);
    });
    holder.replaceChildren(picture.svg, tip);
    if (focused) picture.svg.focus();
  };
  redraw();
  charts.push({ figure, redraw, width: holder.clientWidth, holder });
  figure.forget = () => { details.querySelector('.scroll')?.remove(); fill(); };
}
