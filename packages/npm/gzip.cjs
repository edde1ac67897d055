// gzip.cjs - what a gzip stream contains.
"use strict";

const zlib = require("zlib");

// An error of either stream is an error of the result.
function gunzip(stream) {
  const unzipped = zlib.createGunzip();
  stream.on("error", (error) => unzipped.destroy(error));
  stream.on("aborted", () => unzipped.destroy(new Error("it was cut short")));
  return stream.pipe(unzipped);
}

module.exports = { gunzip };
