import { type Queryable, queryRow } from './sql';

/**
 * For each table, the statement that erases the data of user `$1`, or a `SELECT` of rows that are kept. An
 * `UPDATE` must not match rows that it has already cleared, because it is repeated until it matches none.
 */
export type PersonalData = Readonly<Record<string, string>>;

const EFFECTS = { DELETE: 'deleted', UPDATE: 'cleared', SELECT: 'kept' } as const;
export const ERASURE_EFFECTS = Object.values(EFFECTS);

export interface RowsOfUser {
  readonly table: string;
  readonly effect: (typeof ERASURE_EFFECTS)[number];
  readonly rows: number;
}

const ROWS_AT_ONCE = 10_000;

export async function countRowsOfUser(
  queryable: Queryable,
  userId: number,
  data: PersonalData,
): Promise<RowsOfUser[]> {
  const counted: RowsOfUser[] = [];
  for (const [table, statement] of Object.entries(data)) {
    const { condition, effect } = partsOf(statement);
    const found = `SELECT count(*) AS rows FROM ${table} ${condition}`;
    counted.push({ table, effect, ...(await queryRow<{ rows: number }>(queryable, found, [userId])) });
  }
  return counted;
}

/** Locks rows in id order, like all other statements, to avoid deadlocks. */
export async function lockRowsOfUser(manager: Queryable, userId: number, data: PersonalData): Promise<void> {
  for (const [table, statement] of Object.entries(data)) {
    const rows = `SELECT FROM ${table} ${partsOf(statement).condition} ORDER BY id FOR NO KEY UPDATE`;
    await queryRow(manager, `SELECT count(*) FROM (${rows}) AS locked`, [userId]);
  }
}

export async function eraseRowsOfUser(manager: Queryable, userId: number, data: PersonalData): Promise<void> {
  for (const [table, statement] of Object.entries(data)) {
    const { change, condition, effect } = partsOf(statement);
    if (effect === 'kept') continue;
    const erase = `WITH erased AS (
        ${change} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} ${condition} LIMIT ${ROWS_AT_ONCE}))
        RETURNING 1
      ) SELECT EXISTS (SELECT FROM ${table} ${condition} OFFSET (SELECT count(*) FROM erased)) AS "isLeft"`;
    while ((await queryRow<{ isLeft: boolean }>(manager, erase, [userId])).isLeft);
  }
}

function partsOf(statement: string) {
  const at = statement.indexOf('WHERE');
  const [verb] = statement.trim().split(' ', 1);
  return {
    change: statement.slice(0, at),
    condition: statement.slice(at),
    effect: EFFECTS[verb as keyof typeof EFFECTS],
  };
}
