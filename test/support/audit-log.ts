import type { TestService } from './test-service';

/** The texts of the refusals of an action on a target, as the audit log has them. */
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

/** Works while no line of these actions can be written, as on a full disk. */
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
