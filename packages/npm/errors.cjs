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

module.exports = { SyncError };
