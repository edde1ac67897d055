// suite.mjs - in a worker: run_process of tests/sql with the objects of the module, files in memory.
import create from '/build/browser/run_process.mjs';
import { hostOf } from '/packages/browser/database.mjs';
import { importsOf, MemoryStorage } from '/packages/browser/storage.mjs';

onunhandledrejection = (event) => { throw event.reason; };

onmessage = async ({ data: { scripts } }) => {
  const storage = new MemoryStorage(), lines = [];
  let memory;
  const module = await create({
    print: (line) => lines.push(line),
    printErr: (line) => lines.push(line),
    quit: () => {},
    instantiateWasm(imports, done) {
      const { functions } = importsOf(storage, () => memory.buffer);
      functions.clear = () => storage.clear();
      Object.assign(imports.env, hostOf(() => memory.buffer).env);
      WebAssembly.instantiateStreaming(fetch('/build/browser/run_process.wasm'), { ...imports, storage: functions }).then(({ instance, module: made }) => {
        memory = instance.exports.memory;
        done(instance, made);
      });
      return {};
    },
  });
  const names = [];
  for (const [name, text] of Object.entries(scripts)) {
    module.FS.writeFile(`/${name}`, text);
    names.push(`/${name}`);
  }
  let code;
  try {
    code = module.callMain(['-o', ...names]);
  } catch (error) {
    code = error.name === 'ExitStatus' ? error.status : String(error.stack);
  }
  postMessage({ code, lines });
};
