// page.mjs - the page: shows a device, and lets a person count with it.
import { Device, WAREHOUSE, keyOf, shardOf } from './device.mjs';
import { badge, card, element, isCounted, mergeItem, tombstone } from './draw.mjs';
import { Relay, Tabs } from './links.mjs';

const ANIMALS = ['Fox', 'Otter', 'Heron', 'Bear', 'Newt', 'Lynx', 'Goat', 'Raven', 'Puma', 'Toad', 'Deer', 'Kiwi', 'Seal', 'Jay', 'Mole', 'Vole', 'Crow', 'Ibis', 'Quail', 'Yak', 'Zebra', 'Eel', 'Ape'];
const OFTEN = 10000, GIVEN = 5, LOGGED = 30, LOOK = 2000;
const $ = (id) => document.getElementById(id);
const address = new URL(location.href), isFramed = address.searchParams.has('framed');
const LOCK = 'sqlite-counter example: ';

let device, tabs, relay, isOnline = true, relayState, names = new Map(), mine = new Map();
const taken = new Map(), cards = new Map();

// ---- notices -------------------------------------------------------------------------------------

function say(text, { kind = 'problem', actions = [] } = {}) {
  const old = [...$('notices').children].find((one) => one.dataset.text === text);
  old?.remove();
  const notice = element('p', { class: `notice ${kind}`, 'data-text': text }, element('span', {}, text),
    ...actions.map(([label, act]) => element('button', { onclick: () => { notice.remove(); act(); } }, label)),
    element('button', { class: 'quiet', 'aria-label': 'Close this notice', onclick: () => notice.remove() }, '✕'));
  $('notices').append(notice);
  while ($('notices').children.length > 3) $('notices').firstChild.remove();
  if (kind === 'told') setTimeout(() => notice.remove(), 8000);
}

/** Runs what a button asks for; what fails is a sentence, and the page goes on. */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    say(error.message);
    return undefined;
  }
}

// ---- which device this tab is --------------------------------------------------------------------

const remembered = () => {
  try {
    return JSON.parse(localStorage.getItem('devices') ?? '[]');
  } catch {
    return [];
  }
};

async function openDevices() {
  const { held } = await navigator.locks?.query() ?? { held: [] };
  return new Set(held.filter(({ name }) => name.startsWith(LOCK)).map(({ name }) => name.slice(LOCK.length)));
}

/** A device of this browser that is not open, or a new one. */
async function freeName(isNew = false) {
  const taken_ = await openDevices(), known = remembered();
  const again = isNew ? undefined : known.find((one) => !taken_.has(one));
  if (again) return again;
  const unused = ANIMALS.filter((one) => !known.includes(one) && !taken_.has(one));
  return unused.length ? unused[Math.floor(Math.random() * unused.length)] : `Device ${known.length + 1}`;
}

function remember(name) {
  try {
    localStorage.setItem('devices', JSON.stringify([...new Set([...remembered(), name])]));
  } catch { /* Then the address alone says which device this is. */ }
}

// ---- what is shown -------------------------------------------------------------------------------

const nameOf = (id) => (id === device.id ? device.name : names.get(id) ?? `Device ${id.slice(0, 4)}`);

const actionsOf = {
  products: (name) => ({
    minus: { label: 'Sell 1', title: `Sell 1 ${name}`, act: () => sell(name) },
    plus: { label: 'Deliver 10', title: `Deliver 10 ${name}`, act: () => device.deliver(name, 10) },
    others: [{ label: 'Delete', title: `Delete ${name}`, act: () => device.dropProduct(name) }],
  }),
  votes: (name) => ({
    plus: { label: '▲ For', title: `Vote for ${name}`, act: () => device.vote(name, 'up') },
    minus: { label: '▼ Against', title: `Vote against ${name}`, act: () => device.vote(name, 'down') },
    others: [
      { label: `▲ ${OFTEN.toLocaleString('en')}`, title: `Vote ${OFTEN.toLocaleString('en')} times for ${name}`, act: () => voteOften(name) },
      { label: 'Reset', title: `Reset ${name}`, act: () => device.resetTopic(name) },
      { label: 'Delete', title: `Delete ${name}`, act: () => device.dropTopic(name) },
    ],
  }),
  seats: (name) => ({
    minus: { label: 'Sell 1', title: `Sell 1 seat of ${name}`, act: async () => { await device.sellSeat(name); done('count'); } },
    plus: { label: 'Add 10', title: `Add 10 seats to ${name}`, act: () => device.openSeats(name, 10) },
    others: [
      { label: `Give ${GIVEN}`, title: `Give ${GIVEN} seats of ${name}`, act: () => give(name) },
      { label: 'Delete', title: `Delete ${name}`, act: () => device.closeHall(name) },
    ],
  }),
};
const bringBack = { seats: (name) => device.openSeats(name, 10), products: (name) => device.deliver(name, 10), votes: (name) => device.addTopic(name) };

async function sell(name) {
  if (!await device.sell(name)) say(`No ${name} left on this device: it sells what it knows of.`, { kind: 'told' });
  else done('count');
}

async function give(name) {
  const id = $('grantee').value;
  if (!id) throw new Error('No other device is known yet: open one, and let them meet.');
  await device.giveSeats(name, GIVEN, id);
  say(`${nameOf(id)} may sell ${GIVEN} more seats of ${name}, as soon as it hears of it.`, { kind: 'told' });
}

async function voteOften(name) {
  const begun = performance.now();
  await device.voteOften(name, OFTEN);
  const ms = performance.now() - begun;
  say(`${OFTEN.toLocaleString('en')} votes for ${name}, one by one, in ${Math.round(ms)} ms: ${Math.round(OFTEN / ms * 1000).toLocaleString('en')} a second, and they are durable.`, { kind: 'told' });
}

let isShowing = false, isStale = false;

/** Shows the file as it is now; of many calls at once the last one counts. */
async function show() {
  isStale = true;
  if (isShowing) return;
  isShowing = true;
  try {
    while (isStale) {
      isStale = false;
      const counters = await device.counters();
      names = await device.names();
      mine = await device.mine();
      showGrantees();
      showCards(counters);
      await showState();
    }
  } finally {
    isShowing = false;
  }
}

function showGrantees() {
  const others = [...names].filter(([id]) => id !== device.id && id !== WAREHOUSE), [list, chosen] = [$('grantee'), $('grantee').value];
  if (others.length === list.options.length && others.every(([id], i) => list.options[i].value === id)) return;
  list.replaceChildren(...others.map(([id, name]) => element('option', { value: id, selected: id === chosen ? '' : undefined }, name)));
}

function showCards(counters) {
  const rows = Map.groupBy ? Map.groupBy(counters, ({ table, name }) => JSON.stringify([table, name])) : group(counters);
  for (const [key, old] of cards) if (!rows.has(key)) { old.remove(); cards.delete(key); }
  for (const [key, columns] of rows) {
    const [{ table, name }] = columns, isDeleted = columns.every(({ life }) => life % 2 === 0);
    const view = { name, columns, me: device.id, nameOf, taken: (counter) => takenOf(counter), isSum: table === 'votes', mine: mine.get(name) ?? 0 };
    let shown = cards.get(key);
    if (shown?.isTombstone !== isDeleted) {
      const { minus, plus, others } = actionsOf[table](name);
      const act = (work) => () => attempt(work);
      const made = isDeleted ? tombstone(view, act(() => bringBack[table](name)))
        : card(view, [plus, minus].map((one) => ({ ...one, act: act(one.act) })), others.map((one) => ({ ...one, act: act(one.act) })));
      const hadFocus = shown?.element.contains(document.activeElement);
      made.element.dataset.name = name;
      if (shown) shown.element.replaceWith(made.element);
      else placeIn($(table), made.element, name);
      shown = { ...made, isTombstone: isDeleted, remove: () => made.element.remove() };
      cards.set(key, shown);
      if (hadFocus) made.element.querySelector('button').focus();
    }
    shown.update(view);
  }
}

function group(counters) {
  const rows = new Map();
  for (const one of counters) {
    const key = JSON.stringify([one.table, one.name]);
    rows.set(key, [...rows.get(key) ?? [], one]);
  }
  return rows;
}

function placeIn(list, made, name) {
  list.insertBefore(made, [...list.children].find((one) => one.dataset.name > name) ?? null);
}

// What the last merge took of a counter, until it is counted in again.
function takenOf(counter) {
  const took = taken.get(keyOf(counter));
  return took && took.after.life === counter.life && shardOf(counter, device.id)?.clock === shardOf(took.after, device.id)?.clock ? took : undefined;
}

async function showState() {
  const others = [...await openDevices()].filter((one) => one !== device.name);
  document.body.classList.toggle('offline', !isOnline);
  $('switch').textContent = isOnline ? 'Go offline' : 'Go online';
  if (isOnline) {
    const with_ = others.length ? `${others.length} other ${others.length === 1 ? 'device' : 'devices'} in this browser` : 'no other device in this browser';
    $('state').textContent = `Online: ${with_}${relayState ? `, ${relayState}` : ''}`;
  } else {
    const n = await device.waiting(await device.setting('offline since') ?? 0);
    $('state').textContent = n ? `Offline: ${n} changed ${n === 1 ? 'row waits' : 'rows wait'} to be merged` : 'Offline: nothing changed yet';
    if (n) done('offline');
  }
  if (others.length) done('second');
}

async function showMerge(merge) {
  for (const one of merge.changed.filter(isCounted)) taken.set(keyOf(one.after), one);
  names = await device.names();
  const item = mergeItem(merge, { nameOf, me: device.id });
  if (item) $('log').prepend(item);
  while ($('log').children.length > LOGGED) $('log').lastChild.remove();
  done('merge', 'offline');
}

async function showFile() {
  $('ids').tBodies[0].replaceChildren(...(await device.ids()).map(({ id, state, since, why }) => element('tr', {},
    element('td', {}, element('code', { title: id }, id.slice(0, 8)), state === 'current' ? '' : ` ${state}`), element('td', {}, `${since.slice(0, 19)} UTC`), element('td', {}, why))));
}

function showSteps() {
  try {
    for (const step of JSON.parse(localStorage.getItem('done') ?? '[]')) document.querySelector(`[data-step="${step}"]`)?.classList.add('done');
  } catch { /* Nothing is ticked off. */ }
}

/** Ticks off a step; one that comes after another only when that is done. */
function done(step, after) {
  const at = (name) => document.querySelector(`[data-step=${name}]`);
  if (after && !at(after).classList.contains('done')) return;
  at(step).classList.add('done');
  try {
    localStorage.setItem('done', JSON.stringify([...document.querySelectorAll('#steps .done')].map((one) => one.dataset.step)));
  } catch { /* Then the steps are ticked off as long as the page is open. */ }
}

// ---- online and offline --------------------------------------------------------------------------

async function goOnline() {
  isOnline = true;
  await device.set('online', 1);
  tabs.open();
  await relay.open();
  await show();
}

// The mark of what has been told so far: what changes after it waits.
async function goOffline() {
  isOnline = false;
  tabs.close();
  relay.close();
  const batch = await device.changes(0);
  await device.set('offline since', batch ? JSON.parse(batch).upto : 0);
  await device.set('online', 0);
  await show();
}

const toggle = () => attempt(async () => {
  $('switch').disabled = true;
  try {
    await (isOnline ? goOffline() : goOnline());
  } finally {
    $('switch').disabled = false;
  }
});

// ---- the start -----------------------------------------------------------------------------------

function onSubmit(form, work) {
  $(form).addEventListener('submit', (event) => {
    event.preventDefault();
    const name = new FormData(event.target).get('name').trim();
    if (name) attempt(async () => { await work(name); event.target.reset(); });
  });
}

function listen() {
  $('switch').addEventListener('click', toggle);
  onSubmit('new-product', (name) => device.deliver(name, 10));
  onSubmit('new-topic', (name) => device.addTopic(name));
  onSubmit('new-hall', (name) => device.openSeats(name, 10));
  $('save').addEventListener('click', () => attempt(async () => {
    const url = URL.createObjectURL(new Blob([await device.save()], { type: 'application/vnd.sqlite3' }));
    element('a', { href: url, download: `${device.name}.db` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }));
  $('open').addEventListener('change', ({ target }) => attempt(async () => {
    const [file] = target.files;
    target.value = '';
    if (!file) return;
    await device.restore(new Uint8Array(await file.arrayBuffer()));
    await showFile();
    say(`${file.name} is this device's file now, and counts under a new id.`, { kind: 'told' });
  }));
  $('beside').addEventListener('click', () => attempt(async () => openBeside(await freeName(true))));
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === 'o' || event.key === 'O') toggle();
    const which = { '+': 'plus', '-': 'minus', '−': 'minus' }[event.key];
    if (which) event.target.closest?.('.card')?.querySelector(`.${which}`)?.click();
  });
  addEventListener('visibilitychange', () => { if (!document.hidden) attempt(show); });
}

function openBeside(name) {
  const url = new URL(address);
  url.searchParams.delete('beside');
  url.searchParams.set('device', name);
  url.searchParams.set('framed', '');
  const close = element('button', { class: 'quiet', onclick: () => { frame.remove(); noteBeside(); } }, 'Close');
  const frame = element('div', { class: 'beside-frame', 'data-device': name }, element('iframe', { src: url.href, title: `Device ${name}` }), close);
  $('devices').append(frame);
  noteBeside();
}

// In the address, so that they come back with a reload.
function noteBeside() {
  const frames = [...document.querySelectorAll('.beside-frame')];
  address.searchParams.delete('beside');
  for (const { dataset } of frames) address.searchParams.append('beside', dataset.device);
  history.replaceState(null, '', address);
  document.body.classList.toggle('beside', frames.length > 0);
}

async function start(options) {
  const name = address.searchParams.get('device') || await freeName();
  address.searchParams.set('device', name);
  history.replaceState(null, '', address);
  const fresh = new URL(address);
  fresh.searchParams.delete('beside');
  fresh.searchParams.set('device', await freeName(true));
  $('tab').href = fresh;
  $('name').textContent = name;
  document.title = `${name}: count offline, merge later`;
  navigator.locks?.request(LOCK + name, { mode: 'shared' }, () => new Promise(() => {}));
  device = await Device.open(name, options);
  if (device.storage !== 'memory') remember(name);
  const tell = {
    failed: (text) => say(text),
    relay: (state) => { relayState = state; attempt(showState); },
    same: () => attempt(show),
  };
  tabs = new Tabs(device, tell);
  relay = new Relay(new URL(address.searchParams.get('relay') ?? 'rows', location.href).href, device, tell);
  device.onChange((merge) => {
    if (merge) attempt(() => showMerge(merge));
    else done('count');
    attempt(show);
    if (!isOnline) return;
    tabs.announce();
    relay.announce();
  });
  $('place').textContent = `${{ opfs: 'file in OPFS', indexeddb: 'file in IndexedDB', memory: 'in memory: gone with this tab' }[device.storage]}`;
  $('badge').replaceWith(badge(device.id, name));
  isOnline = (await device.setting('online') ?? 1) !== 0;
  if (!isOnline && (await device.waiting(await device.setting('offline since') ?? 0))) done('reload', 'offline');
  $('switch').disabled = false;
  await showFile();
  if (isOnline) await goOnline();
  else await show();
  setInterval(() => attempt(showState), LOOK);
}

async function begin() {
  document.body.classList.toggle('framed', isFramed);
  showSteps();
  addEventListener('storage', showSteps);
  listen();
  try {
    await start();
  } catch (error) {
    $('place').textContent = 'no file';
    $('state').textContent = 'This device cannot keep what it counts.';
    say(error.message, { actions: [['Count in memory', () => attempt(() => start({ storage: 'memory' }))]] });
  }
  if (!isFramed) address.searchParams.getAll('beside').forEach(openBeside);
  document.body.dataset.ready = '';
}

begin();
