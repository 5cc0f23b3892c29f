import { appendFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PROJECT = join(__dirname, '..', '..');

/** Migrations of a later release next to today's. The trigger fires for statements of both releases. */
const MIGRATIONS = `
const { createIndexConcurrently } = require('../concurrent-index');

exports.Colours9000000000000 = class Colours9000000000000 {
  async up(runner) {
    await runner.query('CREATE TABLE order_colours (order_id bigint PRIMARY KEY, colour text NOT NULL)');
    await runner.query('ALTER TABLE orders ADD COLUMN colour text');
  }
};

exports.OrdersByColour9000000000001 = class OrdersByColour9000000000001 {
  transaction = false;
  up(runner) {
    return createIndexConcurrently(runner, 'orders_colour_idx', 'ON orders (colour)');
  }
};
`;

const RETURN = /RETURN NEW;\s+END \$\$;/;
const COLOUR = `
  NEW.colour := 'green';
  INSERT INTO order_colours VALUES (NEW.id, NEW.colour) ON CONFLICT DO NOTHING;
`;

/** Builds a later release that shares today's packages. @returns the command that starts its service */
export function makeNextRelease(directory: string): readonly string[] {
  symlinkSync(join(PROJECT, 'node_modules'), join(directory, 'node_modules'));
  for (const name of ['package.json', 'dist']) {
    cpSync(join(PROJECT, name), join(directory, name), { recursive: true });
  }
  const database = join(directory, 'dist', 'src', 'database');
  writeFileSync(join(database, 'migrations', '9000000000000-colours.js'), MIGRATIONS);
  appendFileSync(
    join(database, 'data-source-options.js'),
    `\nexports.migrations.push(...Object.values(require('./migrations/9000000000000-colours')));\n`,
  );
  const file = join(database, 'functions', 'record_order_state.sql');
  const text = readFileSync(file, 'utf8');
  if (!RETURN.test(text)) throw new Error(`${file} ends otherwise than this expects`);
  writeFileSync(
    file,
    text.replace(RETURN, (end) => COLOUR + end),
  );
  return [process.execPath, join(directory, 'dist', 'src', 'main.js')];
}
