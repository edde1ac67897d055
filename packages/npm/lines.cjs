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

module.exports = { NIL, chain, gunzip, splitLines, textOf, uuidText };
