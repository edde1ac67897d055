// index.mjs - the same for import.
export {
  default,
  SyncError,
  addToken,
  apply,
  changes,
  getLoadablePath,
  handler,
  load,
  makeFolder,
  mark,
  removeToken,
  syncFolder,
  syncHttp,
  tokens,
} from "./index.cjs";
