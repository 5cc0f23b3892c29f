const WIDTH = 110;

/** The lines of an entry of a list in a document. @param first the beginning of the entry */
export function wrapped(text: string, first: string): string {
  const lines = [first];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}
