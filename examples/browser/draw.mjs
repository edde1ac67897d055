// draw.mjs - draws counters: their sums, their shards, what a merge took of them. Knows nothing of files.
import { shardOf } from './device.mjs';

const KINDS = 8; // of colour and pattern, in style.css

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made[name] = value;
    else if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const signed = (n) => (n < 0 ? `−${(-n).toLocaleString('en')}` : `+${n.toLocaleString('en')}`);
const plain = (n) => signed(n).replace('+', '');

// By the name, so that a device looks the same on all devices.
const kindOf = (name) => [...name].reduce((sum, letter) => (sum * 5 + letter.codePointAt(0)) % 997, 0) % KINDS;

/** A device as a letter on its colour and pattern. */
export function badge(id, name) {
  return element('span', { class: `badge kind${kindOf(name)}`, title: `${name}, ${id}`, 'aria-hidden': 'true' }, name[0]);
}

const isLive = ({ life }) => life % 2 === 1;

/** A counter as what each device has added to it. */
function sum(counter, { nameOf, me, isSum, taken }) {
  const took = taken(counter);
  const parts = counter.shards.filter(({ value }) => value !== 0).map((shard) => {
    const name = nameOf(shard.id), isNew = took?.shards.some(({ id }) => id === shard.id);
    return element('span', { class: `part${isNew ? ' new' : ''}`, title: `${name} has counted ${plain(shard.value)}, its clock is at ${shard.clock}` },
      badge(shard.id, name), element('span', { class: 'says' }, shard.id === me ? 'you ' : `${name} `), signed(shard.value));
  });
  const label = isSum ? { up: '▲', down: '▼' }[counter.column] ?? counter.column : '';
  if (!isLive(counter)) return element('p', { class: 'sum' }, label, element('span', { class: 'none' }, 'deleted'));
  return element('p', { class: 'sum' }, label, ...(parts.length ? parts : [element('span', { class: 'none' }, counter.life > 1 ? `nothing yet in life ${counter.life}` : 'nobody has counted yet')]));
}

const percent = (n) => `${(n * 100).toFixed(2)}%`;

/** From a to b on an axis from low to high. */
function span(a, b, low, high, kind) {
  const all = high - low || 1, from = (Math.min(a, b) - low) / all;
  return element('span', { class: kind, style: `left: ${percent(from)}; width: ${percent(Math.abs(a - b) / all)}` });
}

function table(counter, { nameOf, me, taken }) {
  const values = counter.shards.map(({ value }) => value), low = Math.min(0, ...values), high = Math.max(0, ...values);
  const took = taken(counter);
  const rows = counter.shards.map((shard) => {
    const name = nameOf(shard.id), isNew = took?.shards.some(({ id }) => id === shard.id);
    const old = isNew ? (took.before.life === counter.life ? shardOf(took.before, shard.id) : undefined) ?? { clock: 0, value: 0 } : undefined;
    const bar = element('div', { class: 'bar', 'aria-hidden': 'true' }, span(0, shard.value, low, high, `fill kind${kindOf(name)}`),
      ...(old && old.value !== shard.value ? [span(old.value, shard.value, low, high, 'took')] : []), span(0, 0, low, high, 'zero'));
    return element('tr', {}, element('th', { scope: 'row' }, badge(shard.id, name), shard.id === me ? `${name} (you)` : name), element('td', { class: 'drawn' }, bar),
      element('td', {}, signed(shard.value), ...(old?.clock ? [element('small', {}, `was ${plain(old.value)}`)] : old ? [element('small', {}, 'new')] : [])),
      element('td', {}, String(shard.clock), ...(old?.clock ? [element('small', {}, `was ${old.clock}`)] : [])));
  });
  return element('table', { class: 'shards' }, element('caption', {}, element('code', {}, counter.column), `, life ${counter.life}${isLive(counter) ? '' : ': deleted'}`),
    element('thead', {}, element('tr', {}, ...['device', '', 'counted', 'clock'].map((text) => element('th', { scope: 'col' }, text)))), element('tbody', {}, ...rows));
}

function values({ columns, isSum }) {
  if (!isSum) {
    const [{ value }] = columns;
    return [element('output', { class: 'value' }, plain(value ?? 0))];
  }
  return columns.map((one) => element('output', { class: 'value', 'aria-label': one.column === 'up' ? 'for' : 'against' },
    element('span', { class: 'sign', 'aria-hidden': 'true' }, one.column === 'up' ? '▲' : '▼'), isLive(one) ? plain(one.value ?? 0) : '–'));
}

const button = ({ label, title, act, kind }) => element('button', { class: kind, 'aria-label': title, title, onclick: act }, label);

/** A counter that lives: { element, update(view) }. The buttons stay, so that the focus does. */
export function card(view, [plus, minus], others) {
  const head = element('div', { class: 'values' }), sums = element('div', {}), tables = element('div', {}), note = element('p', { class: 'note' });
  const made = element('article', { class: 'card', 'aria-label': view.name }, element('div', { class: 'head' }, element('h3', {}, view.name), head), sums, note,
    element('div', { class: 'buttons' }, button({ ...plus, kind: 'plus' }), button({ ...minus, kind: 'minus' })),
    element('div', { class: 'below' }, element('details', {}, element('summary', {}, 'Shards'), tables),
      element('div', { class: 'others' }, ...others.map((one) => button({ ...one, kind: 'quiet' })))));
  return {
    element: made,
    update(now) {
      head.replaceChildren(...values(now));
      sums.replaceChildren(...now.columns.map((one) => sum(one, now)));
      tables.replaceChildren(...now.columns.map((one) => table(one, now)));
      const [{ table: of, value }] = now.columns, short = of === 'products' && value < 0;
      note.textContent = short ? `${-value} more sold than there was: offline, each device sold what it knew of.` : '';
      if (of === 'seats') note.textContent = now.mine > 0 ? `This device may sell ${now.mine} of them.` : 'This device may sell none of them: let another one give it some.';
      made.classList.toggle('new', now.columns.some((one) => now.taken(one)));
    },
  };
}

/** One that has been deleted, which every device has to remember. */
export function tombstone(view, act) {
  const text = element('p', {});
  const made = element('article', { class: 'card tombstone', 'aria-label': `${view.name}, deleted` }, element('div', { class: 'head' }, element('h3', {}, view.name), button({ label: 'Bring back', title: `Bring ${view.name} back`, act, kind: 'quiet' })), text);
  return {
    element: made,
    update({ columns }) {
      const life = Math.max(...columns.map((one) => one.life));
      text.textContent = `Deleted: a tombstone, life ${life}. It wins over all that was counted in life ${life - 1}, on every device that it reaches.`;
    },
  };
}

const states = ({ life, value }) => (life === 0 ? 'not here' : isLive({ life }) ? plain(value ?? 0) : 'deleted');

/** Whether a change is more than a row that has appeared. */
export const isCounted = ({ before, after, shards }) => (before.life !== after.life && before.life > 0)
  || shards.some(({ id, value }) => value !== (shardOf(before, id)?.value ?? 0));

/** What a merge took, for the log: { source, by, changed }; undefined if it is rows alone, without counts. */
export function mergeItem({ source, by, changed }, { nameOf, me }) {
  const from = source ? nameOf(source) : 'another device';
  const counted = changed.filter(isCounted);
  if (!counted.length) return undefined;
  const lines = counted.map(({ before, after, shards }) => {
    const what = { stock: after.name, up: `${after.name} ▲`, down: `${after.name} ▼` }[after.column] ?? `${after.name} ${after.column}`;
    const line = element('li', {}, element('strong', {}, what), ` ${states(before)} → ${states(after)}`);
    if (before.life !== after.life && before.life > 0) {
      const lost = shardOf(before, me)?.value;
      line.append(element('small', {}, `life ${before.life} → ${after.life}${isLive(before) && before.value ? `; the ${plain(before.value)} counted before ${Math.abs(before.value) === 1 ? 'is' : 'are'} gone${lost ? `, yours too (${signed(lost)})` : ''}` : ''}`));
    }
    for (const { id, clock, value } of shards) {
      const old = before.life === after.life ? shardOf(before, id) : undefined;
      line.append(element('small', {}, badge(id, nameOf(id)), `${nameOf(id)} ${old ? `${signed(old.value)} → ` : ''}${signed(value)}, clock ${old ? `${old.clock} → ` : ''}${clock}`));
    }
    return line;
  });
  return element('li', {}, element('p', {}, ...(source ? [badge(source, from)] : []), element('strong', {}, from), by === 'tab' ? ' in this browser, ' : ' through the relay, ',
    element('time', {}, new Date().toLocaleTimeString('en-GB'))), element('ul', {}, ...lines));
}
