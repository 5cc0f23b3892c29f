import type { SeededRandom } from './seeded-random';

/** Surroundings and insertions of copied texts, from people, agents and programs. */
const DECORATIONS = [
  ...Array.from(' \t\n\u00a0\u200b\ufeff"\'`*_~.,;:!?=…()[]{}<>«»“”„‘’–|/\\#@&+-%\0é😀'),
  ...'\r\n== ** ``` ... %20 %3D &nbsp; .x'.split(' '),
];
const LETTERS = Array.from('abcxyzABCXYZ0189-_');

/** Keeps letters and digits in their order. */
export function decorate(text: string, random: SeededRandom): string {
  const decoration = random.pick(DECORATIONS as [string, ...string[]]);
  const at = random.pick([0, text.length, random.integer(0, text.length)] as const);
  const decorated = text.slice(0, at) + decoration + text.slice(at);
  return random.chance(0.3) ? decorate(decorated, random) : decorated;
}

/** Decorated, cut, repeated, or with another character. */
export function mutate(text: string, random: SeededRandom): string {
  const at = random.integer(0, Math.max(text.length - 1, 0));
  const letter = random.pick(LETTERS as [string, ...string[]]);
  const mutations = [
    () => decorate(text, random),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text.slice(0, at) + letter + text.slice(at + 1),
    // The last character of a part has bits to spare.
    () => text.slice(0, -1) + letter,
    () => text.replace(/.(?=\.)/, letter),
    () => text.slice(0, at) + letter + text.slice(at),
    () => text.slice(0, at),
    () => text.slice(at) + text.slice(0, at),
    () => text + text,
    () => text.replaceAll('-', '+').replaceAll('_', '/'),
    () => (random.chance(0.5) ? text.toLowerCase() : text.toUpperCase()),
    () => encodeURIComponent(text),
    () => text.replace(/[0-9]/, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  ] as const;
  const mutated = random.pick(mutations)();
  return mutated === text || random.chance(0.2) ? mutate(mutated, random) : mutated;
}
