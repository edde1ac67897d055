// index.mjs - the same for import.
export { getLoadablePath, load } from "./index.cjs";
