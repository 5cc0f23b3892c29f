// Builds dist/ anew, as ES modules and as CommonJS. It uses the compiler of the repository.
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

process.chdir(import.meta.dirname);
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const compile = (...options) =>
  execFileSync(process.execPath, [compiler, '-p', '.', ...options], { stdio: 'inherit' });

rmSync('dist', { recursive: true, force: true });
compile('--outDir', 'dist/esm');
compile('--outDir', 'dist/cjs', '--module', 'commonjs', '--moduleResolution', 'bundler');
// Node.js and TypeScript read from it what the files next to it are.
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
// npm packs only files of this folder.
copyFileSync('../../LICENSE', 'LICENSE');
