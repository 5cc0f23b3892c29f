import type { Frame } from './cpu-profile';

const WIDTH = 1200;
const ROW = 17;
const TOP = 40;
/** Narrower boxes are invisible. */
const MIN_WIDTH = 0.4;
const CHARACTER_WIDTH = 6.3;

/** A flame graph: width is time on the stack, callees are above their callers, and tooltips give details. */
export function flameGraph(root: Frame, title: string): string {
  const boxes: string[] = [];
  let depth = 0;
  const draw = (frame: Frame, x: number, level: number): void => {
    const width = (frame.totalUs / root.totalUs) * WIDTH;
    if (!(width >= MIN_WIDTH)) return;
    depth = Math.max(depth, level);
    boxes.push(box(frame, x, level, width, frame.totalUs / root.totalUs));
    let calleeX = x;
    for (const callee of [...frame.callees.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      draw(callee, calleeX, level + 1);
      calleeX += (callee.totalUs / root.totalUs) * WIDTH;
    }
  };
  draw(root, 0, 0);
  const height = TOP + (depth + 1) * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}"`,
    ` viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="8" y="22" font-size="15">${escaped(title)}</text>`,
    // The root is the lowest row.
    `<g transform="translate(0 ${height - ROW})">`,
    ...boxes,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function box({ name, where }: Frame, x: number, level: number, width: number, share: number): string {
  const label = where === '' ? name : `${name} (${where})`;
  const fits = Math.floor((width - 4) / CHARACTER_WIDTH);
  const shown = fits < 3 ? '' : label.slice(0, fits);
  const y = -level * ROW;
  return (
    `<g><title>${escaped(label)}: ${(100 * share).toFixed(1)} %</title>` +
    `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}"` +
    ` fill="${colour(where)}"/>` +
    (shown === '' ? '' : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escaped(shown)}</text>`) +
    '</g>'
  );
}

/**
 * A fixed colour for each package: warm for the service, cold for Node.js and the engine, green for
 * packages.
 */
function colour(where: string): string {
  let hash = 0;
  for (const character of where) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 360;
  if (where.startsWith('src/')) return `hsl(${hash % 30} 85% 65%)`;
  if (where.startsWith('node:') || where === 'engine' || where === '') {
    return `hsl(${200 + (hash % 30)} 45% 75%)`;
  }
  return `hsl(${45 + (hash % 100)} 60% 68%)`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
