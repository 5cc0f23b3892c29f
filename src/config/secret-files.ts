import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileVariable, settingGroups, SETTINGS } from './settings';

type Variables = Readonly<Record<string, string | undefined>>;

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? 'no code';

/** `problems` must quote nothing from the files. */
export function readSecretFiles(variables: Variables): {
  readonly secrets: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
} {
  const secrets = new Map<string, string>();
  const problems: string[] = [];
  for (const [, settings] of settingGroups()) {
    for (const [, { variable, isSecret }] of settings) {
      const inFile = fileVariable(variable);
      const path = variables[inFile]?.trim();
      if (!isSecret || !path) continue;
      if (variables[variable]?.trim()) {
        problems.push(`${variable} conflicts with ${inFile}: set only one of them`);
      }
      try {
        const content = readFileSync(path, 'utf8').trim();
        if (content === '') problems.push(`${inFile} names an empty file`);
        else secrets.set(variable, content);
      } catch (error) {
        problems.push(`${inFile} names a file that cannot be read (${codeOf(error)})`);
      }
    }
  }
  return { secrets, problems };
}

/** @throws Error whose message never contains the file's content */
export async function readApiKeyFile(path: string): Promise<string> {
  const { variable, rule } = SETTINGS.provider.apiKey;
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new Error(`${fileVariable(variable)} cannot be read (${codeOf(error)})`);
  });
  const { data, error } = rule.safeParse(content.trim());
  if (error) throw new Error(`${fileVariable(variable)} contains no key`);
  return data;
}
