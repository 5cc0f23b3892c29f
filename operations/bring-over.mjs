// Brings the database of the environment over from the last version before the baseline, once, while nothing
// uses it. It runs the build in dist/ (npm run build).
//
// 1. Back up: `cli backup FILE` of the version before, which alone can restore it, or pg_dump.
// 2. Stop every replica and command. Reconciliation settles open orders afterwards.
// 3. Bring the database over, in one transaction: if it fails, the version before still works.
//
//      export DATABASE_URL=postgres://proxy_rental_service:…@db/proxy_rental
//      DATABASE_OWNER_URL=postgres://proxy_rental_owner:…@db/proxy_rental node operations/bring-over.mjs
//
//    With docker/compose.yaml, in docker/:
//
//      docker compose run --rm -v "$PWD/../operations:/app/operations:ro" migrate \
//        node operations/bring-over.mjs
//
// 4. `npm run --silent cli -- audit` must print "ok": true. Start the replicas.
import { readEnvironment } from '../dist/src/config/index.js';
import { migrate } from '../dist/src/database/index.js';
import { acquireResources } from '../dist/src/local/index.js';

const needs = { provider: false };
const tell = (line) => process.stdout.write(`${line}\n`);
try {
  const { config, release } = await acquireResources(readEnvironment(undefined, needs), needs, tell);
  try {
    await migrate({ ...config.database, bringsOver: true });
    tell('The database is one of this version.');
  } finally {
    await release();
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
