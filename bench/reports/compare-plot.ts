import { valuesOf, type WorkloadResult } from '../workloads/rounds';
import {
  BARE_NODE,
  COPY,
  HEALTH,
  ORDINARY_TRANSACTIONS,
  SAME_STATEMENTS,
  SERVICE,
} from '../workloads/subjects';
import { rounded } from './compare-report';

const WIDTH = 960;
const LABELS = 300;
const VALUES = 190;
const BAR = 14;
const GAP = 12;
const TOP = 64;

/** A palette that colour-blind readers can tell apart. */
const COLOURS: Readonly<Record<string, string>> = {
  [SERVICE]: '#0072b2',
  [BARE_NODE]: '#e69f00',
  [HEALTH]: '#56b4e9',
  [SAME_STATEMENTS]: '#999999',
  [ORDINARY_TRANSACTIONS]: '#555555',
  [COPY]: '#009e73',
};

/**
 * Throughput relative to each workload's fastest subject: bars are medians, lines the range of the rounds.
 */
export function comparePlot(workloads: readonly WorkloadResult[]): string {
  const parts: string[] = [];
  let y = TOP;
  for (const workload of workloads) {
    const rates = workload.subjects.map((subject) => ({
      name: subject.name,
      ...valuesOf(subject, 'perSecond'),
    }));
    const scale = (WIDTH - LABELS - VALUES) / Math.max(...rates.map(({ max }) => max));
    parts.push(text(LABELS - 10, y + BAR - 3, workload.title, 'text-anchor="end"'));
    for (const { name, median, min, max } of rates) {
      const middle = y + BAR / 2;
      parts.push(
        rectangle(LABELS, y, median * scale, BAR - 2, name),
        `<path d="M${fixed(LABELS + min * scale)} ${middle}H${fixed(LABELS + max * scale)}"` +
          ' stroke="#000" stroke-width="1.5"/>',
        text(LABELS + max * scale + 6, y + BAR - 3, `${rounded(median)} / s`),
      );
      y += BAR;
    }
    y += GAP;
  }
  const names = [...new Set(workloads.flatMap(({ subjects }) => subjects.map(({ name }) => name)))];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}"`,
    ` viewBox="0 0 ${WIDTH} ${y}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${y}" fill="#fff"/>`,
    text(
      10,
      20,
      'Requests per second, each workload to its own scale; lines show the range of the rounds',
      'font-size="14"',
    ),
    ...names.map((name, at) => {
      const x = 10 + (at * (WIDTH - 20)) / names.length;
      return rectangle(x, 34, 10, 10, name) + text(x + 14, 43, name);
    }),
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

/** In the colour of the subject. */
const rectangle = (x: number, y: number, width: number, height: number, subject: string): string =>
  `<rect x="${fixed(x)}" y="${y}" width="${fixed(width)}" height="${height}"` +
  ` fill="${COLOURS[subject] ?? '#cc79a7'}"/>`;

const fixed = (value: number): string => value.toFixed(1);

function text(x: number, y: number, content: string, attributes = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${fixed(x)}" y="${fixed(y)}"${attributes && ` ${attributes}`}>${escaped}</text>`;
}
