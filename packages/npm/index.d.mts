import * as counter from "./index.js";

export * from "./index.js";
export default counter;
