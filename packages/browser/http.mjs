// http.mjs - sync: exchanges changes with a server, as client.cjs of the npm package does, by fetch().
//
// It runs in the page: other calls of the database go on while it waits for the network.
import client from '../npm/client.cjs';
import errors from '../npm/errors.cjs';

export const { SyncError } = errors;

const TIMEOUT = 60000; // milliseconds in which nothing comes
const SLOWEST = 4; // bytes of an upload in a millisecond

/** Waits for what comes, and ends the request if nothing does. */
async function within(abort, promise, milliseconds = TIMEOUT) {
  const timer = setTimeout(() => abort.abort(new Error(`no answer within ${Math.round(milliseconds / 1000)} seconds`)), milliseconds);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** The body of an answer, in chunks. */
async function* bytesOf(response, abort) {
  if (!response.body) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await within(abort, reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** What fetch() does not tell apart: no server, and one that lets no page of another site in. */
function unreachable(url, error) {
  if (!(error instanceof TypeError)) return error;
  const stranger = url.origin === location.origin ? '' : `, or lets no pages of ${location.origin} in (CORS)`;
  return new Error(`the server cannot be reached${stranger}`, { cause: error });
}

const transport = {
  name: 'sync()',
  get base() {
    return globalThis.document?.baseURI ?? globalThis.location?.href; // it may change with the page
  },

  async pack(text) {
    const body = new Blob([text]);
    if (typeof CompressionStream === 'undefined') return { body, coding: {} };
    const stream = body.stream().pipeThrough(new CompressionStream('gzip'));
    return { body: await new Response(stream).blob(), coding: { 'Content-Encoding': 'gzip' } };
  },

  async open({ token }, url, { body, coding }) {
    const abort = new AbortController();
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson', ...coding };
    const asked = fetch(url, { method: 'POST', headers, body, redirect: 'manual', cache: 'no-store', signal: abort.signal });
    const response = await within(abort, asked, TIMEOUT + body.size / SLOWEST).catch((error) => { throw unreachable(url, error); });
    return {
      status: response.status,
      location: response.type === 'opaqueredirect' && 'another URL',
      after: 1000 * Number(response.headers.get('Retry-After')),
      bytes: () => bytesOf(response, abort),
    };
  },
};

/** `call` asks the worker. Tabs take turns: no file is locked. */
const fileOf = (call) => ({ run: (step, ...args) => call('sync', step, ...args), isLocked: () => false });

export async function sync(call, url, token, { scope } = {}) {
  return client.synchronize(fileOf(call), client.serverOf(transport, url, token, scope));
}
