// Checks that each dependency in package-lock.json has a licence under which the service may be used and
// passed on.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ALLOWED = new Set([
  'MIT',
  // Binds changes of its own files only. axe-core, for the tests.
  'MPL-2.0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'CC-BY-4.0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);
/** Packages that name no licence in package.json, with the one that their readme or licence file has. */
const STATED_ELSEWHERE = { pause: 'MIT' };

process.chdir(join(import.meta.dirname, '..'));
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const refused = Object.entries(packages)
  .filter(([path]) => path !== '')
  .map(([path, { license }]) => [path, license ?? statedBy(path)])
  .filter(([, licence]) => !isAllowed(licence));
for (const [path, licence] of refused) console.error(`${path}: ${licence ?? 'no licence'}`);
if (refused.length > 0) process.exitCode = 1;

/** Older packages have a list, or an object, which the lockfile does not repeat. */
function statedBy(path) {
  const { license, licenses } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  const stated = license ?? licenses?.[0];
  return stated?.type ?? stated ?? STATED_ELSEWHERE[path.replace(/^.*node_modules\//, '')];
}

/** Every licence of an expression has to be allowed, also where one of them could be chosen. */
function isAllowed(licence) {
  const terms = licence?.replaceAll(/[()]/g, '').split(/ (?:AND|OR) /) ?? [];
  return terms.length > 0 && terms.every((term) => ALLOWED.has(term));
}
