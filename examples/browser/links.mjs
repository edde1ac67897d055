// links.mjs - how batches of changes get from device to device. Any way will do: a batch may come late, twice,
// and in any order.

const CHANNEL = 'sqlite-counter example';
const SOON = 50, AGAIN = 2000;

/** The other tabs of this browser. `here` says that there is something, `want` asks for it, `rows` is it. */
export class Tabs {
  #device;
  #tell;
  #channel;
  #isOpen = false;
  #soon;
  #asks = false;

  constructor(device, tell) {
    this.#device = device;
    this.#tell = tell;
  }

  open() {
    this.#channel = new BroadcastChannel(CHANNEL);
    this.#channel.onmessage = ({ data }) => this.#hear(data).catch((error) => this.#tell.failed(`From ${data.name ?? 'another tab'}: ${error.message}`));
    this.#isOpen = true;
    this.announce(true);
  }

  close() {
    this.#isOpen = false;
    this.#channel?.close();
  }

  /** Soon, and once for many counts. */
  announce(asks = false) {
    this.#asks ||= asks;
    this.#soon ??= setTimeout(() => {
      this.#say({ word: 'here', asks: this.#asks });
      this.#soon = undefined;
      this.#asks = false;
    }, SOON);
  }

  #say(message) {
    if (this.#isOpen) this.#channel.postMessage({ ...message, id: this.#device.id, name: this.#device.name });
  }

  async #hear({ word, id, to, asks, since, batch }) {
    if (id === this.#device.id) return this.#tell.same();
    if (to && to !== this.#device.id) return;
    switch (word) {
      case 'here':
        if (asks) this.announce();
        this.#say({ word: 'want', to: id, since: await this.#device.mark(id) });
        break;
      case 'want': {
        const rows = await this.#device.changes(since);
        if (rows) this.#say({ word: 'rows', to: id, batch: rows });
        break;
      }
      case 'rows':
        if (this.#isOpen) await this.#device.take(batch, { source: id, by: 'tab' });
    }
  }
}

/** A relay: it keeps every batch that it is given, and streams them to whoever listens. */
export class Relay {
  #device;
  #tell;
  #address;
  #stream;
  #isOpen = false;
  #incoming = Promise.resolve();
  #sending;
  #hasMore = false;

  constructor(address, device, tell) {
    this.#address = address;
    this.#device = device;
    this.#tell = tell;
  }

  async open() {
    this.#isOpen = true;
    await this.#listen();
    this.announce();
  }

  close() {
    this.#isOpen = false;
    this.#stream?.close();
  }

  async #listen() {
    const after = await this.#device.setting('relay position') ?? 0;
    if (!this.#isOpen) return;
    this.#stream?.close();
    const stream = this.#stream = new EventSource(`${this.#address}?after=${after}`);
    stream.addEventListener('relay', ({ data }) => this.#next(() => this.#meet(JSON.parse(data))));
    stream.onmessage = ({ data, lastEventId }) => this.#next(() => this.#hear(data, Number(lastEventId)), stream);
    stream.onerror = () => {
      const isThere = stream.readyState !== EventSource.CLOSED;
      this.#tell.relay(isThere ? 'relay not reached, trying again' : 'no relay');
      if (!isThere) setTimeout(() => this.#isOpen && this.#stream === stream && this.#listen(), AGAIN);
    };
  }

  #next(work, stream = this.#stream) {
    this.#incoming = this.#incoming.then(() => (this.#isOpen && this.#stream === stream ? work() : undefined))
      .catch((error) => this.#tell.failed(`From the relay: ${error.message}`));
  }

  // A relay that has forgotten everything is another one: begin anew, which doubles nothing.
  async #meet({ relay }) {
    this.#tell.relay('relay connected');
    if (await this.#device.setting('relay') !== relay) {
      for (const [name, value] of Object.entries({ relay, 'relay position': 0, [`sent ${this.#device.id}`]: 0 })) await this.#device.set(name, value);
      await this.#listen();
    }
    this.announce();
  }

  // The position is written after the rows: if the page ends in between, the rows come again.
  async #hear(batch, position) {
    try {
      const { source } = JSON.parse(batch);
      if (source !== this.#device.id) await this.#device.take(batch, { source, by: 'relay' });
    } catch (error) {
      this.#tell.failed(`Rows from the relay do not fit, and were left out: ${error.message}`);
    }
    await this.#device.set('relay position', position);
  }

  /** Sends what the relay has not got yet, soon. */
  announce() {
    this.#hasMore = true;
    this.#sending ??= this.#send().finally(() => { this.#sending = undefined; });
  }

  async #send() {
    while (this.#hasMore && this.#isOpen) {
      await new Promise((later) => { setTimeout(later, SOON); });
      this.#hasMore = false;
      const sent = `sent ${this.#device.id}`;
      const lines = await this.#device.changes(await this.#device.setting(sent) ?? 0);
      if (!lines || !this.#isOpen) continue;
      try {
        const answer = await fetch(this.#address, { method: 'POST', body: lines });
        if (answer.status === 404) return;
        if (!answer.ok) this.#tell.failed(`The relay refused what this device sent: ${await answer.text()}`);
        else await this.#device.set(sent, JSON.parse(lines.split('\n').pop()).upto);
      } catch {
        return; // It is not reached: when it is, the stream says so, and all of it is sent.
      }
    }
  }
}
