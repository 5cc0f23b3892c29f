/**
 * A table with padded columns, readable as text. The first column is left-aligned, the others right-aligned.
 */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) =>
    Math.max(title.length, 3, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => pad(cells[at] ?? '', width, at)).join(' | ')} |`;
  const dashes = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  const rule = `| ${dashes.join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}

export function seconds(ms: number): string {
  return Number.isNaN(ms) ? '—' : `${(ms / 1000).toFixed(1)} s`;
}

export function milliseconds(ms: number): string {
  return Number.isNaN(ms) ? '—' : `${ms.toFixed(1)} ms`;
}
