// index.mjs - the same for import.
export { default, getLoadablePath, load } from "./index.cjs";
