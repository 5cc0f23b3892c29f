import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const OPERATIONS = join(__dirname, '..', '..', 'operations');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>;
}

export interface DashboardQuery {
  readonly panel: string;
  readonly expr: string;
}

interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts?: object[] }[];
  }[];
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const readText = (name: string): string => readFileSync(join(OPERATIONS, name), 'utf8');

export const readAlertRules = (): AlertRule[] =>
  (parse(readText('alerts.yml')) as { groups: { rules: AlertRule[] }[] }).groups.flatMap(
    ({ rules }) => rules,
  );

/** The alerts that the tests of the rules expect to fire, and not to fire. */
export function readRuleTests(): { firing: Set<string>; silent: Set<string> } {
  const tests = (parse(readText('alerts.test.yml')) as RuleTests).tests.flatMap(
    (test) => test.alert_rule_test,
  );
  const names = (isFiring: boolean) =>
    new Set(
      tests.filter(({ exp_alerts }) => (exp_alerts !== undefined) === isFiring).map((test) => test.alertname),
    );
  return { firing: names(true), silent: names(false) };
}

export const readDashboardQueries = (): DashboardQuery[] =>
  (JSON.parse(readText('dashboard.json')) as Dashboard).panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: title, expr })),
  );

export function selectorsOf(expr: string): { metric: string; labels: string[] }[] {
  return [...expr.matchAll(/\b((?:proxy_rental|nodejs|process|node)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric = '', matchers = '']) => ({
      metric,
      labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }),
  );
}
