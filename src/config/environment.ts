import { readSecretFiles } from './secret-files';
import { isEncryptedOrLocal, isOnItsOwn, type Lookup, settingGroups, type Settings } from './settings';
import { readTuning, type Tuning, TUNING_VARIABLE } from './tuning';

export type Environment = Settings & { readonly tuning: Tuning };

type Variables = Readonly<Record<string, string | undefined>>;

/** Lists every invalid variable with the violated rule, but never its value. */
export class EnvironmentError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The environment is invalid: ${problems.join('; ')}`);
  }
}

/** Without `needs.provider`, the provider's key may be missing. @throws EnvironmentError */
export function readEnvironment(variables: Variables = process.env, needs = { provider: true }): Environment {
  // An empty value counts as absent, because `VAR= npm start` and compose files write absent values this way.
  const { secrets, problems: fileProblems } = readSecretFiles(variables);
  const given: Lookup = (variable) => secrets.get(variable) ?? (variables[variable]?.trim() || undefined);
  const problems = [...fileProblems];
  const groups = settingGroups().map(([group, settings]) => {
    const values = settings.map(([name, { variable, rule, default: fallback }]) => {
      const text = given(variable) ?? (typeof fallback === 'function' ? fallback(given) : fallback);
      if (text === undefined) return [name, undefined];
      const { data, error } = rule.safeParse(text, { error: () => `must be ${rule.description}` });
      if (error) problems.push(`${variable} ${error.issues[0]?.message}`);
      return [name, data];
    });
    return [group, Object.freeze(Object.fromEntries(values))];
  });
  // Do not report a secret as missing if its file could not be read.
  if (fileProblems.length === 0) {
    problems.push(
      ...databaseProblems(given),
      ...providerProblems(given, needs),
      ...paymentsProblems(given),
      ...oauthProblems(given),
    );
  }
  const { tuning, problems: tuningProblems } = readTuning(given(TUNING_VARIABLE));
  problems.push(...tuningProblems);
  if (problems.length > 0) throw new EnvironmentError(problems);
  return Object.freeze({ ...(Object.fromEntries(groups) as Settings), tuning });
}

function* databaseProblems(given: Lookup): Generator<string> {
  if (given('DATABASE_OWNER_URL') === undefined) return;
  const url = given('DATABASE_URL');
  if (url === undefined) yield 'DATABASE_OWNER_URL has no effect without DATABASE_URL';
  else if (URL.canParse(url) && new URL(url).username === '') {
    yield 'DATABASE_URL must include a role name if DATABASE_OWNER_URL is set';
  }
}

function* providerProblems(given: Lookup, needs: { provider: boolean }): Generator<string> {
  const choice = given('PROVIDER');
  const hasKey = given('PX6_API_KEY') !== undefined;
  if (choice === 'sandbox') {
    if (hasKey) yield 'PX6_API_KEY conflicts with PROVIDER=sandbox: set only one of them';
  } else if (!hasKey) {
    if (given('PX6_BASE_URL') !== undefined) yield 'PX6_BASE_URL has no effect without PX6_API_KEY';
    if (choice === 'px6' || (given('DATABASE_URL') !== undefined && needs.provider)) {
      yield 'PX6_API_KEY is missing (PROVIDER=sandbox runs without a real provider)';
    }
  }
}

function* oauthProblems(given: Lookup): Generator<string> {
  const url = given('PUBLIC_URL');
  if (given('MCP_OAUTH') !== 'on' || (url !== undefined && !URL.canParse(url))) return;
  if (url === undefined) yield 'PUBLIC_URL is missing: MCP_OAUTH=on requires it';
  else if (!isEncryptedOrLocal(url)) yield 'PUBLIC_URL must use https if MCP_OAUTH=on: tokens are sent to it';
  else if (new URL(url).pathname !== '/') yield 'PUBLIC_URL must not contain a path if MCP_OAUTH=on';
}

function* paymentsProblems(given: Lookup): Generator<string> {
  // Data from a sandbox must never reach the real provider.
  if (given('PAYMENTS') === 'sandbox' && !isOnItsOwn(given)) {
    for (const variable of ['YOOKASSA_BASE_URL', 'YOOKASSA_SHOP_ID']) {
      if (given(variable) === undefined) yield `${variable} is missing: PAYMENTS=sandbox requires a sandbox`;
    }
  }
  if (given('YOOKASSA_REGISTER') !== undefined && given('YOOKASSA_RECEIPT') === undefined) {
    yield 'YOOKASSA_REGISTER has no effect without YOOKASSA_RECEIPT';
  }
  if (given('PAYMENTS') !== 'yookassa') return;
  for (const variable of ['YOOKASSA_SHOP_ID', 'YOOKASSA_SECRET_KEY']) {
    if (given(variable) === undefined) yield `${variable} is missing (PAYMENTS=off runs without it)`;
  }
  if (given('DEPOSIT_RETURN_URL') === undefined && given('PUBLIC_URL') === undefined) {
    yield 'DEPOSIT_RETURN_URL is missing: customers need a way back from the payment page';
  }
}
