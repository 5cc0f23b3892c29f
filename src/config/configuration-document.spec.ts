import { join } from 'node:path';
import { expectGenerated, wrapped } from '../../test/support/generated';
import { settingGroups } from './settings';

const DOCUMENT = join(__dirname, '../../docs/configuration.md');

const secretVariables = (): string =>
  settingGroups()
    .flatMap(([, settings]) => settings.filter(([, { isSecret }]) => isSecret))
    .map(([, { variable }]) => `\`${variable}\``)
    .join(', ');

const INTRODUCTION = `# Configuration

<!-- Generated from src/config/settings.ts by \`npm run generate:configuration\`. -->

Environment variables configure the service; brackets show the default and, unless obvious, the format.
All settings are optional, except that \`DATABASE_URL\` requires \`PX6_API_KEY\` or \`PROVIDER=sandbox\`.
An empty variable counts as unset. At startup, the service reports each invalid setting with the accepted
values.

These secrets can also be read from a file (\`DATABASE_URL_FILE=/run/secrets/url\`):
${secretVariables()}.
`;

/** Formats that the default or the description shows. */
const OBVIOUS =
  /^(?:a (?:whole|decimal|URL|payment)|an (?:amount|HTTP|e-mail)|descending|true|text|letters|the)/;

type Setting = ReturnType<typeof settingGroups>[number][1][number][1];

function describeSetting({ variable, rule, default: fallback, defaultText, description }: Setting): string {
  const defaultValue = defaultText ?? `\`${String(fallback)}\``;
  const rules = rule.description?.replace('a whole number from', 'from') ?? '';
  const described = OBVIOUS.test(rule.description ?? '') ? '' : rules;
  const format = defaultText === undefined ? described.replace(/, e\.g\. .*?(?=, or |$)/, '') : described;
  const details = [defaultValue, format].filter((detail) => detail !== 'none' && detail !== '');
  const name = `\`${variable}\`${details.length > 0 ? ` (${details.join('; ')})` : ''}`;
  return `${wrapped(`${name}: ${description}`, '-')}\n`;
}

function renderDocument(): string {
  const sections = settingGroups().map(
    ([group, settings]) =>
      `\n## ${group.charAt(0).toUpperCase()}${group.slice(1)}\n\n${settings
        .map(([, setting]) => describeSetting(setting))
        .join('')}`,
  );
  return INTRODUCTION + sections.join('');
}

describe('docs/configuration.md', () => {
  it('is what the settings say (npm run generate:configuration)', () => {
    expectGenerated(DOCUMENT, 'UPDATE_CONFIGURATION', renderDocument());
  });

  it('names each variable once', () => {
    const variables = settingGroups().flatMap(([, settings]) => settings.map(([, { variable }]) => variable));
    expect(new Set(variables).size).toBe(variables.length);
  });
});
