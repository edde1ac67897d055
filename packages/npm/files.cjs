// files.cjs - the files of a folder that several machines see: their names, writing one, reading one.
//
//     <since>-<upto>.gz, 20 digits each: lines of changes, then {"lines":2,"digest":"…"}
//
// A file is written below a name that begins with `.tmp-`, flushed to disk and renamed, so that others see it whole.
"use strict";

const { createHash, randomBytes } = require("crypto");
const fs = require("fs");
const path = require("path");
const { Readable } = require("stream");
const { pipeline } = require("stream/promises");
const zlib = require("zlib");

const { gunzip } = require("./gzip.cjs");
const { LONGEST, partsOf } = require("./lines.cjs");

const NAME = /^(\d{20})-(\d{20})\.gz$/;
const TEMPORARY = ".tmp-";
const ABANDONED = 60 * 60 * 1000; // milliseconds after which nobody writes a temporary file any more

const nameOf = (since, upto) => `${String(since).padStart(20, "0")}-${String(upto).padStart(20, "0")}.gz`;

// Returns { name, since, upto } of a file of changes; undefined for another name.
function parseName(name) {
  const found = NAME.exec(name);
  if (!found) return undefined;
  const [since, upto] = [BigInt(found[1]), BigInt(found[2])];
  return since < upto && upto < 2n ** 63n ? { name, since, upto } : undefined;
}

/* ---- a folder -------------------------------------------------------------------------------- */

const { O_CREAT, O_DIRECTORY = 0, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = fs.constants;

// A folder that is no link. On Linux it is held open: whoever puts a link in its place meanwhile leads nothing astray.
// Elsewhere Node has no way to hold one, and it is looked at before each step. Links in it are not followed either.
class Folder {
  static async open(at) {
    const folder = new Folder();
    Object.assign(folder, { path: at, at, handle: undefined });
    await folder.look();
    if (process.platform === "win32") return folder; // which opens no folders
    folder.handle = await fs.promises.open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const held = `/proc/self/fd/${folder.handle.fd}`;
    if (fs.existsSync(`${held}/.`)) folder.at = held;
    return folder;
  }

  async look() {
    if (this.at !== this.path || (await fs.promises.lstat(this.path)).isDirectory()) return;
    throw Object.assign(new Error("ENOTDIR: it is a link or no folder"), { code: "ENOTDIR", syscall: "open", path: this.path });
  }

  pathOf(name) {
    return path.join(this.path, name);
  }

  // Messages show the path that people know.
  async #do(work) {
    await this.look();
    try {
      return await work(this.at);
    } catch (error) {
      if (this.at !== this.path && error.path?.startsWith(this.at)) {
        error.message = error.message.replaceAll(this.at, this.path);
        error.path = error.path.replace(this.at, this.path);
      }
      throw error;
    }
  }

  names = () => this.#do((at) => fs.promises.readdir(at));
  stat = (name) => this.#do((at) => fs.promises.lstat(path.join(at, name)));
  open = (name, flags) => this.#do((at) => fs.promises.open(path.join(at, name), flags | O_NOFOLLOW));
  rename = (name, to) => this.#do((at) => fs.promises.rename(path.join(at, name), path.join(at, to)));
  remove = (name) => this.#do((at) => fs.promises.rm(path.join(at, name), { force: true }));
  flush = () => this.handle?.sync(); // Windows flushes no folders
  close = () => this.handle?.close();
}

/* ---- digests --------------------------------------------------------------------------------- */

const NIL = Buffer.alloc(16);

// The UUID of version 5 of a line in the name space of the digest before it; both are 16 bytes.
function chain(digest, line) {
  const next = createHash("sha1").update(digest).update(line).digest().subarray(0, 16);
  next[6] = (next[6] & 0x0f) | 0x50;
  next[8] = (next[8] & 0x3f) | 0x80;
  return next;
}

const uuidText = (bytes) => bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

/* ---- writing --------------------------------------------------------------------------------- */

async function* withDigest(lines) {
  let digest = NIL;
  let n = 0;
  for await (const line of lines) {
    digest = chain(digest, Buffer.from(line));
    n++;
    yield `${line}\n`;
  }
  yield `{"lines":${n},"digest":"${uuidText(digest)}"}\n`;
}

// A stream of the handle would close it when it fails, and pipeline() would tell of its own end then.
async function writeParts(handle, lines) {
  let failed;
  const write = async (parts) => {
    for await (const part of parts)
      await handle.writeFile(part).catch((error) => {
        failed = error;
        throw error;
      });
  };
  await pipeline(Readable.from(withDigest(lines)), zlib.createGzip(), write).catch((error) => {
    throw failed ?? error;
  });
}

// Writes a file of lines; its name is asked for when they have ended. Returns its size.
async function writeFile(folder, lines, name) {
  const temporary = TEMPORARY + randomBytes(8).toString("hex");
  try {
    const handle = await folder.open(temporary, O_WRONLY | O_CREAT | O_EXCL);
    try {
      await writeParts(handle, lines);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const { size } = await folder.stat(temporary);
    await folder.rename(temporary, name());
    await folder.flush();
    return size;
  } catch (error) {
    await folder.remove(temporary).catch(() => {});
    throw error;
  }
}

// What a process that was killed has left; where nothing can be removed, it stays.
async function removeAbandoned(folder, names) {
  for (const name of names.filter((each) => each.startsWith(TEMPORARY))) {
    const age = await folder.stat(name).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0
    );
    if (age > ABANDONED) await folder.remove(name).catch(() => {});
  }
}

/* ---- reading --------------------------------------------------------------------------------- */

const bytesOf = (handle) => gunzip(fs.createReadStream("", { fd: handle.fd, start: 0, autoClose: false }));

// The lines of a stream of bytes, as Buffers without line breaks; also the last one, if it has none.
async function* splitLines(stream) {
  let parts = [];
  let size = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let at; (at = chunk.indexOf(10, from)) >= 0; from = at + 1) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]);
      [parts, size] = [[], 0];
    }
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > LONGEST) throw new RangeError(`a line has more than ${LONGEST} bytes`);
  }
  if (size > 0) yield Buffer.concat(parts);
}

// Returns the number of bytes before the last line, which must be right.
async function checkDigest(handle) {
  let [digest, n, size, last] = [NIL, 0, 0, undefined];
  for await (const line of splitLines(bytesOf(handle))) {
    if (last !== undefined) {
      digest = chain(digest, last);
      n++;
      size += last.length + 1;
    }
    last = line;
  }
  let end;
  try {
    end = JSON.parse(String(last));
  } catch (cause) {
    throw new Error("it has no last line with a digest", { cause });
  }
  if (end?.lines !== n || end.digest !== uuidText(digest)) throw new Error("its digest is not that of its lines");
  return size;
}

async function* firstOf(stream, size) {
  for await (const chunk of stream) {
    yield chunk.subarray(0, size);
    size -= chunk.length;
    if (size <= 0) return;
  }
}

// Calls `take` with lines, part by part, when all of the file has been found to be right.
// A pipe or a device, which may never end, is no file; to open one does not wait.
async function readFile(folder, name, take) {
  const handle = await folder.open(name, O_RDONLY | O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Error("it is no regular file");
    const size = await checkDigest(handle);
    for await (const part of partsOf(firstOf(bytesOf(handle), size))) await take(part);
  } finally {
    await handle.close();
  }
}

module.exports = { Folder, nameOf, parseName, readFile, removeAbandoned, writeFile };
