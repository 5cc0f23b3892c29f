// Brings the database of the environment over from the last version before the baseline, once, while nothing
// uses it: docs/operations.md, "From before the baseline". It runs the build in dist/ (npm run build).
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
