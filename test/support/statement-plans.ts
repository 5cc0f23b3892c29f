import type { DataSource, Logger } from 'typeorm';
import { queryRows } from '../../src/database';

export interface SentStatement {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** Records each text once, with its first parameters. */
export function recordStatements(dataSource: DataSource): ReadonlyMap<string, SentStatement> {
  const sent = new Map<string, SentStatement>();
  const ignore = (): void => undefined;
  const recorder: Logger = {
    logQuery: (text, parameters: unknown[] = []) => {
      if (!sent.has(text)) sent.set(text, { text, parameters });
    },
    logQueryError: ignore,
    logQuerySlow: ignore,
    logSchemaBuild: ignore,
    logMigration: ignore,
    log: ignore,
  };
  dataSource.logger = recorder;
  return sent;
}

export async function statementsDuring(
  dataSource: DataSource,
  work: () => Promise<unknown>,
): Promise<SentStatement[]> {
  const sent = jest.spyOn(dataSource.logger, 'logQuery');
  try {
    await work();
    return sent.mock.calls.map(([text, parameters]) => ({ text, parameters: [parameters ?? []].flat() }));
  } finally {
    sent.mockRestore();
  }
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

/** An unfiltered scan below a Limit stops early, for example `max(id)`. */
const isBounded = (parent: PlanNode, node: PlanNode): boolean =>
  parent['Node Type'] === 'Limit' && !node.Filter;

const allNodes = (node: PlanNode): PlanNode[] => [
  node,
  ...(node.Plans ?? []).filter((inner) => !isBounded(node, inner)).flatMap(allNodes),
];

const PLANNED = /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/i;

/** Sequential scans, and index scans without a condition, except for partial indexes, which are small. */
export async function findWholeReads(
  dataSource: DataSource,
  { text, parameters }: SentStatement,
  tables: readonly string[],
): Promise<string[]> {
  if (!PLANNED.test(text)) return [];
  const [plan] = await queryRows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    dataSource,
    `EXPLAIN (FORMAT JSON) ${text}`,
    parameters,
  );
  const whole = await queryRows<{ name: string }>(
    dataSource,
    `SELECT relname AS name FROM pg_index JOIN pg_class ON oid = indexrelid
      WHERE indpred IS NULL AND indrelid = ANY ($1::text[]::regclass[])`,
    [tables],
  );
  const wholeIndexes = new Set(whole.map(({ name }) => name));
  return allNodes((plan as NonNullable<typeof plan>)['QUERY PLAN'][0].Plan).flatMap((node) => {
    const table = node['Relation Name'];
    const index = node['Index Name'];
    if (node['Node Type'] === 'Seq Scan' && table && tables.includes(table)) return [`Seq Scan on ${table}`];
    if (index && wholeIndexes.has(index) && !node['Index Cond']) return [`all of ${index}`];
    return [];
  });
}
