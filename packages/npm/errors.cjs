// errors.cjs - the error of a sync, and of a file or a connection that cannot be used.
"use strict";

/** `file`, `url` and `status` say where, if it was there. */
class SyncError extends Error {
  constructor(message, { file, url, status, cause } = {}) {
    super(`sqlite-counter: ${message}`);
    this.name = "SyncError";
    if (file !== undefined) this.file = file;
    if (url !== undefined) this.url = url;
    if (status !== undefined) this.status = status;
    if (cause !== undefined) this.cause = cause;
  }
}

/** What comes from elsewhere, on one line: a terminal would obey its control characters. */
const plain = (text) => String(text).replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, " ");

module.exports = { SyncError, plain };
