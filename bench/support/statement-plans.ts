import type { DataSource, Logger } from 'typeorm';
import { queryRows } from '../../src/database';

export interface SentStatement {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** Keeps what a data source sends from now on, each text once, with the parameters that it was first sent with. */
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

/** A step of a plan, as EXPLAIN (FORMAT JSON) tells it. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

/** What is read up to a limit, and not sifted, is not read to the end: `max(id)` for one. */
const isBounded = (parent: PlanNode, node: PlanNode): boolean =>
  parent['Node Type'] === 'Limit' && !node.Filter;

const allNodes = (node: PlanNode): PlanNode[] => [
  node,
  ...(node.Plans ?? []).filter((inner) => !isBounded(node, inner)).flatMap(allNodes),
];

/** What a statement took, milliseconds, and by which indexes it read, or which tables from end to end. The statement is run. */
export async function explain(
  dataSource: DataSource,
  { text, parameters }: SentStatement,
): Promise<{ executionMs: number; reads: string[] }> {
  const [row] = await queryRows<{ 'QUERY PLAN': [{ Plan: PlanNode; 'Execution Time': number }] }>(
    dataSource,
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
    parameters,
  );
  const [{ Plan: plan, 'Execution Time': executionMs }] = (row as NonNullable<typeof row>)['QUERY PLAN'];
  const everything = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(everything)];
  const reads = everything(plan).flatMap((node) => {
    if (node['Node Type'] === 'Seq Scan') return [`all of ${node['Relation Name']}`];
    return node['Index Name'] ?? [];
  });
  return { executionMs, reads };
}

const PLANNED = /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/i;

/**
 * Where the plan of a statement reads one of these tables from end to end: by itself, or by an index without a condition. A partial
 * index may be read whole: it is small because of what it leaves out.
 */
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
