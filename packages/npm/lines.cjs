// lines.cjs - lines of batches in bytes: split, digested, compressed.
"use strict";

const { createHash } = require("crypto");
const zlib = require("zlib");

const LONGEST = 256 * 2 ** 20; // bytes of a line; V8 has no longer texts than 512 MiB
const utf8 = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

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

/* ---- before it is parsed --------------------------------------------------------------------- */

// More than is taken in at once, whatever it says.
class TooMuch extends Error {}

const MOST_CHANGES = 100000; // of a body, or of a line in a folder or an answer
const MOST_VALUES = 2 ** 20; // of JSON in a text; one for each 16 bytes of a larger one
const mostValues = (size) => Math.max(MOST_VALUES, Math.floor(size / 16));

const [COMMA, QUOTE, BACKSLASH, BRACKET, BRACE, END_BRACKET, END_BRACE, NEWLINE] = Buffer.from(',"\\[{]}\n');

// How many values of JSON a text or its bytes may have, at most. Two bytes of it may be a hundred times as many in memory: an empty
// object. The lines of a batch have some ten bytes for each value, and a counter that thousands have counted more than 16.
function valuesOf(text) {
  if (text.length <= MOST_VALUES) return text.length;
  const at = typeof text === "string" ? (i) => text.charCodeAt(i) : (i) => text[i];
  let values = 1;
  for (let i = 0; i < text.length; i++) {
    const letter = at(i);
    if (letter === COMMA || letter === BRACKET || letter === BRACE) values++;
    else if (letter === QUOTE)
      for (i++; i < text.length && at(i) !== QUOTE; i++) if (at(i) === BACKSLASH) i++;
  }
  return values;
}

// How many changes the lines of a body have, at most: objects within an array of a batch.
function changesOf(bytes) {
  let [changes, depth] = [0, 0];
  for (let i = 0; i < bytes.length; i++) {
    const letter = bytes[i];
    if (letter === BRACE && depth === 2) changes++;
    if (letter === BRACKET || letter === BRACE) depth++;
    else if (letter === END_BRACKET || letter === END_BRACE) depth--;
    else if (letter === NEWLINE) depth = 0;
    else if (letter === QUOTE)
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
  }
  return changes;
}

/* ---- digests and gzip ------------------------------------------------------------------------ */

function textOf(bytes) {
  try {
    return utf8().decode(bytes);
  } catch (cause) {
    throw new Error("it is not UTF-8", { cause });
  }
}

const NIL = Buffer.alloc(16);

// The UUID of version 5 of a line in the name space of the digest before it; both are 16 bytes.
function chain(digest, line) {
  const next = createHash("sha1").update(digest).update(line).digest().subarray(0, 16);
  next[6] = (next[6] & 0x0f) | 0x50;
  next[8] = (next[8] & 0x3f) | 0x80;
  return next;
}

const uuidText = (bytes) => bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

// The stream of what a gzip stream contains; an error of either one is an error of the result.
function gunzip(stream) {
  const unzipped = zlib.createGunzip();
  stream.on("error", (error) => unzipped.destroy(error));
  stream.on("aborted", () => unzipped.destroy(new Error("it was cut short")));
  return stream.pipe(unzipped);
}

module.exports = { MOST_CHANGES, NIL, TooMuch, chain, changesOf, gunzip, mostValues, splitLines, textOf, uuidText, valuesOf };
