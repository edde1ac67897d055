// files.cjs - the files of a folder that several machines see: their names, writing one, reading one.
//
//     <since>-<upto>.gz, 20 digits each: lines of batches, then {"lines":2,"digest":"…"}
//
// A file is written below a name that begins with `.tmp-`, flushed to disk and renamed, so that others see it whole.
"use strict";

const { randomBytes } = require("crypto");
const fs = require("fs");
const path = require("path");
const { Readable } = require("stream");
const { pipeline } = require("stream/promises");
const zlib = require("zlib");

const { NIL, chain, gunzip, splitLines, textOf, uuidText } = require("./lines.cjs");

const NAME = /^(\d{20})-(\d{20})\.gz$/;
const TEMPORARY = ".tmp-";
const ABANDONED = 60 * 60 * 1000; // milliseconds after which nobody writes a temporary file any more

const nameOf = (since, upto) => `${String(since).padStart(20, "0")}-${String(upto).padStart(20, "0")}.gz`;

// Returns { name, since, upto } of a file of batches; undefined for another name.
function parseName(name) {
  const found = NAME.exec(name);
  if (!found) return undefined;
  const [since, upto] = [BigInt(found[1]), BigInt(found[2])];
  return since < upto && upto < 2n ** 63n ? { name, since, upto } : undefined;
}

/* ---- writing --------------------------------------------------------------------------------- */

// Windows flushes no folders.
async function flushFolder(folder) {
  if (process.platform === "win32") return;
  const handle = await fs.promises.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

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

// Writes a file of lines; its name is asked for when they have ended. Returns its size.
async function writeFile(folder, lines, name) {
  const temporary = path.join(folder, TEMPORARY + randomBytes(8).toString("hex"));
  try {
    await pipeline(Readable.from(withDigest(lines)), zlib.createGzip(), fs.createWriteStream(temporary, { flags: "wx" }));
    const handle = await fs.promises.open(temporary, "r+");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    const { size } = await fs.promises.stat(temporary);
    await fs.promises.rename(temporary, path.join(folder, name()));
    await flushFolder(folder);
    return size;
  } catch (error) {
    await fs.promises.rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

// What a process that was killed has left.
async function removeAbandoned(folder, names) {
  for (const name of names.filter((each) => each.startsWith(TEMPORARY))) {
    const file = path.join(folder, name);
    const age = await fs.promises.stat(file).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0
    );
    if (age > ABANDONED) await fs.promises.rm(file, { force: true });
  }
}

/* ---- reading --------------------------------------------------------------------------------- */

const linesOf = (handle) => splitLines(gunzip(fs.createReadStream("", { fd: handle.fd, start: 0, autoClose: false })));

// Returns the number of lines before the last one, which must be right.
async function checkDigest(handle) {
  let [digest, n, last] = [NIL, 0, undefined];
  for await (const line of linesOf(handle)) {
    if (last !== undefined) {
      digest = chain(digest, last);
      n++;
    }
    last = line;
  }
  let end;
  try {
    end = JSON.parse(textOf(last ?? Buffer.alloc(0)));
  } catch (cause) {
    throw new Error("it has no last line with a digest", { cause });
  }
  if (end?.lines !== n || end.digest !== uuidText(digest)) throw new Error("its digest is not that of its lines");
  return n;
}

// Calls `take` with lines of about `enough` bytes, when all of the file has been found to be right.
async function readFile(file, enough, take) {
  const handle = await fs.promises.open(file, "r");
  try {
    const n = await checkDigest(handle);
    let [lines, size, i] = [[], 0, 0];
    for await (const line of linesOf(handle)) {
      if (i++ === n) break;
      lines.push(textOf(line));
      size += line.length;
      if (size >= enough) {
        await take(lines);
        [lines, size] = [[], 0];
      }
    }
    if (lines.length > 0) await take(lines);
  } finally {
    await handle.close();
  }
}

module.exports = { flushFolder, nameOf, parseName, readFile, removeAbandoned, writeFile };
