// lines.mjs - what a database gives and takes: lines of JSON, by lines.cjs of the npm package.
import lines from '../npm/lines.cjs';

const named = (values) => Object.fromEntries(values.map((value, i) => [String.fromCharCode(97 + i), value]));

/** A database as the generators of lines.cjs want it; what is there is at hand at once. */
const connectionOf = (database) => ({
  all: (sql, ...values) => database.exec(sql, named(values)),
  cursor(sql, ...values) {
    const { statement } = database.prepare(sql), rows = statement.rows(named(values));
    return {
      next: () => rows.next().value,
      close() {
        rows.return();
        statement.finalize();
      },
    };
  },
});

/** Runs one of these generators, by its name. */
export function run(database, step, ...args) {
  const steps = lines[step](connectionOf(database), ...args);
  let next = steps.next();
  while (!next.done) next = steps.next(next.value);
  return next.value;
}

/** What changed in this file after `since`; '' if nothing did. */
export function changes(database, since = 0, { own = false, scope } = {}) {
  const rows = database.exec('SELECT line FROM counter_lines(?, ?, ?)', [since, Number(own), lines.scopeText(scope)]);
  return rows.map(({ line }) => line).join('\n');
}

/** Merges lines, all or none; how many changes they have. */
export function apply(database, text) {
  if (typeof text !== 'string') throw new TypeError('apply: takes the text that changes() gave');
  return run(database, 'take', text).changes;
}

/** How far this file has taken the changes of a source: what to ask it for. */
export function mark(database, source, scope) {
  return database.exec('SELECT counter_mark(?, ?) AS mark', [source, lines.scopeText(scope)])[0].mark;
}
