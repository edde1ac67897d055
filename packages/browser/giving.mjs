// giving.mjs - what a sync asks a database for: by the statements of the npm package, in lines of its sizes.
import giving from '../npm/giving.cjs';

const named = (values) => (values.length ? Object.fromEntries(values.map((value, i) => [String.fromCharCode(97 + i), value])) : []);

/** A database as the generators of giving.cjs want it; what is there is at hand at once. */
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

function run(steps) {
  let step = steps.next();
  while (!step.done) step = steps.next(step.value);
  return step.value;
}

export const source = (database) => run(giving.settle(connectionOf(database)));
export const end = (database) => BigInt(run(giving.readEnd(connectionOf(database))));
export const mark = (database, name) => run(giving.readMark(connectionOf(database), name, null));
export const window = (database, query, bytes) => run(giving.readWindow(connectionOf(database), query, bytes));
export const take = (database, lines, source) => database.merge(lines, source);
export const apart = (database) => run(giving.countApart(connectionOf(database)));
