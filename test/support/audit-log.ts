import type { TestService } from './test-service';

export async function refusalsOf(
  { dataSource }: TestService,
  action: string,
  target: number,
): Promise<unknown[]> {
  const lines = await dataSource.query<{ refusal: unknown }[]>(
    `SELECT refusal FROM audit_log
      WHERE action = $1 AND target_id = $2 AND refusal IS NOT NULL AND after IS NULL ORDER BY id`,
    [action, String(target)],
  );
  return lines.map(({ refusal }) => refusal);
}

export async function withFullDisk(
  { owner }: TestService,
  actions: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  const names = actions.map((action) => `'${action}'`).join(', ');
  await owner.query(
    `ALTER TABLE audit_log ADD CONSTRAINT full_disk CHECK (action NOT IN (${names})) NOT VALID`,
  );
  try {
    await work();
  } finally {
    await owner.query('ALTER TABLE audit_log DROP CONSTRAINT full_disk');
  }
}
