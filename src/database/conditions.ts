/** The conditions of a list that is filtered, with the parameters of their statement. */
export class Conditions {
  readonly parameters: unknown[] = [];
  private readonly conditions: string[] = [];

  /** Adds a parameter and returns its place in the statement: `$1`. */
  given(value: unknown): string {
    return `$${this.parameters.push(value)}`;
  }

  add(condition: string): void {
    this.conditions.push(condition);
  }

  /** Filters by a value, unless it is null, undefined or empty. @param condition receives its place */
  by(value: unknown, condition: (place: string) => string): void {
    if (value !== null && value !== undefined && value !== '') this.add(condition(this.given(value)));
  }

  /** The end of a statement for the page after a cursor, by ids, newest first. */
  toPageSql(
    { cursor, limit }: { readonly cursor: number | null; readonly limit: number },
    id = 'id',
  ): string {
    // Also without a cursor, so that the plan is the same.
    this.add(`${id} < ${this.given(cursor ?? Number.MAX_SAFE_INTEGER)}`);
    return `${this.toSql()} ORDER BY ${id} DESC LIMIT ${this.given(limit)}`;
  }

  /** `WHERE … AND …`, or nothing. */
  toSql(): string {
    return this.conditions.length > 0 ? `WHERE ${this.conditions.join(' AND ')}` : '';
  }
}
