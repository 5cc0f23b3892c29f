import { readFileSync, writeFileSync } from 'node:fs';

const WIDTH = 110;

/** @param first how the list entry begins */
export function wrapped(text: string, first: string, indent = ' '.repeat(first.indexOf('-') + 2)): string {
  const lines = [first];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(indent + word);
  }
  return lines.join('\n');
}

export function withPart(path: string, begin: string, text: string, end: string): string {
  const [before, rest = ''] = readFileSync(path, 'utf8').split(begin);
  return before + begin + text + end + (rest.split(end)[1] ?? '');
}

/** Writes the file if the variable is set, as `npm run generate:…` does. */
export function expectGenerated(path: string, variable: string, text: string): void {
  if (process.env[variable] === '1') writeFileSync(path, text);
  expect(readFileSync(path, 'utf8')).toBe(text);
}
